package dev.platter.block.iscsi;

/** How a login ends: a class and a detail. */
enum LoginStatus {
  SUCCESS(0x0000),
  INITIATOR_ERROR(0x0200),
  AUTHENTICATION_FAILED(0x0201),
  NOT_FOUND(0x0203),
  VERSION_NOT_SUPPORTED(0x0205),
  MISSING_PARAMETER(0x0207),
  SESSION_TYPE_NOT_SUPPORTED(0x0209),
  NO_SUCH_SESSION(0x020a),
  UNAVAILABLE(0x0301);

  final short code;

  LoginStatus(int code) {
    this.code = (short) code;
  }
}
