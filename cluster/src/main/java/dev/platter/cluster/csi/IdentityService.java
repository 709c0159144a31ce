package dev.platter.cluster.csi;

import com.google.protobuf.BoolValue;
import csi.v1.GetPluginCapabilitiesRequest;
import csi.v1.GetPluginCapabilitiesResponse;
import csi.v1.GetPluginInfoRequest;
import csi.v1.GetPluginInfoResponse;
import csi.v1.IdentityGrpc;
import csi.v1.PluginCapability;
import csi.v1.ProbeRequest;
import csi.v1.ProbeResponse;
import io.grpc.stub.StreamObserver;
import java.util.List;

/** Who a driver is, and what it is for. */
final class IdentityService extends IdentityGrpc.IdentityImplBase {
  private final String name;
  private final List<PluginCapability> capabilities;

  IdentityService(String name, List<PluginCapability> capabilities) {
    this.name = name;
    this.capabilities = List.copyOf(capabilities);
  }

  @Override
  public void getPluginInfo(
      GetPluginInfoRequest request, StreamObserver<GetPluginInfoResponse> caller) {
    Answer.give(
        caller,
        () -> GetPluginInfoResponse.newBuilder().setName(name).setVendorVersion(version()).build());
  }

  private static String version() {
    var version = IdentityService.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  @Override
  public void getPluginCapabilities(
      GetPluginCapabilitiesRequest request, StreamObserver<GetPluginCapabilitiesResponse> caller) {
    Answer.give(
        caller,
        () -> GetPluginCapabilitiesResponse.newBuilder().addAllCapabilities(capabilities).build());
  }

  @Override
  public void probe(ProbeRequest request, StreamObserver<ProbeResponse> caller) {
    Answer.give(caller, () -> ProbeResponse.newBuilder().setReady(BoolValue.of(true)).build());
  }
}
