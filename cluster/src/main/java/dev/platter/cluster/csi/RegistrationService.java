package dev.platter.cluster.csi;

import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import pluginregistration.v1.InfoRequest;
import pluginregistration.v1.PluginInfo;
import pluginregistration.v1.RegistrationGrpc;
import pluginregistration.v1.RegistrationStatus;
import pluginregistration.v1.RegistrationStatusResponse;

/** Tells kubelet, which finds us by our socket in its registry, where the driver is. */
final class RegistrationService extends RegistrationGrpc.RegistrationImplBase {
  private final String driver;
  private final Path endpoint;
  private volatile boolean registered;

  RegistrationService(String driver, Path endpoint) {
    this.driver = driver;
    this.endpoint = endpoint;
  }

  boolean registered() {
    return registered;
  }

  @Override
  public void getInfo(InfoRequest request, StreamObserver<PluginInfo> caller) {
    Answer.give(
        caller,
        () ->
            PluginInfo.newBuilder()
                .setType("CSIPlugin")
                .setName(driver)
                .setEndpoint(endpoint.toString())
                .addSupportedVersions("1.0.0")
                .build());
  }

  @Override
  public void notifyRegistrationStatus(
      RegistrationStatus request, StreamObserver<RegistrationStatusResponse> caller) {
    registered = request.getPluginRegistered();
    if (!registered) {
      System.err.println(
          "kubelet does not take the CSI driver " + driver + ": " + request.getError());
    }
    Answer.give(caller, RegistrationStatusResponse::getDefaultInstance);
  }
}
