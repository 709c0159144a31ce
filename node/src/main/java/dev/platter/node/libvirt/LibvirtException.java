package dev.platter.node.libvirt;

/**
 * What libvirt said went wrong. {@code code} and {@code domain} are libvirt's own numbers
 * (virErrorNumber, virErrorDomain), so that an error can be looked up in libvirt's documentation.
 */
public final class LibvirtException extends RuntimeException {
  static final int NO_DOMAIN = 42;
  static final int NO_STORAGE_POOL = 49;
  public static final int NO_SECRET = 66;

  private final int code;
  private final int domain;

  LibvirtException(int code, int domain, String message) {
    super(message);
    this.code = code;
    this.domain = domain;
  }

  LibvirtException(String message, Throwable cause) {
    super(message, cause);
    this.code = 0;
    this.domain = 0;
  }

  /** virErrorNumber, 0 if libvirt was never reached. */
  public int code() {
    return code;
  }

  /** virErrorDomain: the part of libvirt that failed, 0 if libvirt was never reached. */
  public int domain() {
    return domain;
  }
}
