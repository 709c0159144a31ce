package dev.platter.cluster.csi;

import com.google.protobuf.BoolValue;
import csi.v1.GetPluginCapabilitiesRequest;
import csi.v1.GetPluginCapabilitiesResponse;
import csi.v1.GetPluginInfoRequest;
import csi.v1.GetPluginInfoResponse;
import csi.v1.IdentityGrpc;
import csi.v1.ProbeRequest;
import csi.v1.ProbeResponse;
import dev.platter.cluster.api.Names;
import io.grpc.stub.StreamObserver;

/** Who the driver is. It has no controller: an inline volume is made where its pod is. */
final class IdentityService extends IdentityGrpc.IdentityImplBase {
  @Override
  public void getPluginInfo(
      GetPluginInfoRequest request, StreamObserver<GetPluginInfoResponse> caller) {
    Answer.give(
        caller,
        () ->
            GetPluginInfoResponse.newBuilder()
                .setName(Names.CSI_DRIVER)
                .setVendorVersion(version())
                .build());
  }

  private static String version() {
    var version = IdentityService.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  @Override
  public void getPluginCapabilities(
      GetPluginCapabilitiesRequest request, StreamObserver<GetPluginCapabilitiesResponse> caller) {
    Answer.give(caller, GetPluginCapabilitiesResponse::getDefaultInstance);
  }

  @Override
  public void probe(ProbeRequest request, StreamObserver<ProbeResponse> caller) {
    Answer.give(caller, () -> ProbeResponse.newBuilder().setReady(BoolValue.of(true)).build());
  }
}
