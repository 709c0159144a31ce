package dev.platter.cluster.csi;

import csi.v1.ControllerExpandVolumeRequest;
import csi.v1.ControllerExpandVolumeResponse;
import csi.v1.ControllerGetCapabilitiesRequest;
import csi.v1.ControllerGetCapabilitiesResponse;
import csi.v1.ControllerGetVolumeHealthRequest;
import csi.v1.ControllerGetVolumeHealthResponse;
import csi.v1.ControllerGetVolumeRequest;
import csi.v1.ControllerGetVolumeResponse;
import csi.v1.ControllerGrpc;
import csi.v1.ControllerListVolumeHealthRequest;
import csi.v1.ControllerListVolumeHealthResponse;
import csi.v1.ControllerModifyVolumeRequest;
import csi.v1.ControllerModifyVolumeResponse;
import csi.v1.ControllerServiceCapability;
import csi.v1.ControllerServiceCapability.RPC;
import csi.v1.CreateSnapshotRequest;
import csi.v1.CreateSnapshotResponse;
import csi.v1.CreateVolumeRequest;
import csi.v1.CreateVolumeResponse;
import csi.v1.DeleteSnapshotRequest;
import csi.v1.DeleteSnapshotResponse;
import csi.v1.DeleteVolumeRequest;
import csi.v1.DeleteVolumeResponse;
import csi.v1.GetCapacityRequest;
import csi.v1.GetCapacityResponse;
import csi.v1.GetSnapshotRequest;
import csi.v1.GetSnapshotResponse;
import csi.v1.ListSnapshotsRequest;
import csi.v1.ListSnapshotsResponse;
import csi.v1.ListVolumesRequest;
import csi.v1.ListVolumesResponse;
import csi.v1.PluginCapability;
import csi.v1.ValidateVolumeCapabilitiesRequest;
import csi.v1.ValidateVolumeCapabilitiesResponse;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.VolumeMounts;
import io.grpc.stub.StreamObserver;
import java.util.List;

/**
 * Makes and removes volumes and snapshots of this node. There is one on every node, and its
 * sidecars ask only for what is of theirs; but who makes claims larger asks one for the whole
 * cluster, so what is elsewhere is left to its own node.
 */
final class VolumeController extends ControllerGrpc.ControllerImplBase {
  private static final List<RPC.Type> CAPABILITIES =
      List.of(
          RPC.Type.CREATE_DELETE_VOLUME,
          RPC.Type.LIST_VOLUMES,
          RPC.Type.GET_VOLUME,
          RPC.Type.GET_CAPACITY,
          RPC.Type.CREATE_DELETE_SNAPSHOT,
          RPC.Type.LIST_SNAPSHOTS,
          RPC.Type.GET_SNAPSHOT,
          RPC.Type.CLONE_VOLUME,
          RPC.Type.EXPAND_VOLUME,
          RPC.Type.SINGLE_NODE_MULTI_WRITER,
          RPC.Type.GET_VOLUME_HEALTH,
          RPC.Type.LIST_VOLUME_HEALTH);

  /** What the driver as a whole says of itself. */
  static final List<PluginCapability> PLUGIN =
      List.of(
          service(PluginCapability.Service.Type.CONTROLLER_SERVICE),
          service(PluginCapability.Service.Type.VOLUME_ACCESSIBILITY_CONSTRAINTS),
          service(PluginCapability.Service.Type.SNAPSHOT_ACCESSIBILITY_CONSTRAINTS),
          PluginCapability.newBuilder()
              .setVolumeExpansion(
                  PluginCapability.VolumeExpansion.newBuilder()
                      .setType(PluginCapability.VolumeExpansion.Type.ONLINE))
              .build());

  private static PluginCapability service(PluginCapability.Service.Type type) {
    return PluginCapability.newBuilder()
        .setService(PluginCapability.Service.newBuilder().setType(type))
        .build();
  }

  private final VolumeCalls volumes;
  private final SnapshotCalls snapshots;

  VolumeController(
      VolumeMounts mounts, DrawnVolumes drawn, VolumeRequests requests, Handles handles) {
    this.volumes = new VolumeCalls(mounts, drawn, requests, handles);
    this.snapshots = new SnapshotCalls(mounts.store(), requests, handles);
  }

  @Override
  public void controllerGetCapabilities(
      ControllerGetCapabilitiesRequest request,
      StreamObserver<ControllerGetCapabilitiesResponse> caller) {
    Answer.give(
        caller,
        () -> {
          var response = ControllerGetCapabilitiesResponse.newBuilder();
          CAPABILITIES.forEach(
              type ->
                  response.addCapabilities(
                      ControllerServiceCapability.newBuilder()
                          .setRpc(RPC.newBuilder().setType(type))));
          return response.build();
        });
  }

  @Override
  public void createVolume(
      CreateVolumeRequest request, StreamObserver<CreateVolumeResponse> caller) {
    Answer.give(caller, () -> volumes.create(request));
  }

  @Override
  public void deleteVolume(
      DeleteVolumeRequest request, StreamObserver<DeleteVolumeResponse> caller) {
    Answer.give(caller, () -> volumes.delete(request));
  }

  /** Not among the capabilities, so nobody calls it for a user: see {@link VolumeDriver}. */
  @Override
  public void controllerModifyVolume(
      ControllerModifyVolumeRequest request,
      StreamObserver<ControllerModifyVolumeResponse> caller) {
    Answer.give(caller, () -> volumes.draw(request));
  }

  @Override
  public void validateVolumeCapabilities(
      ValidateVolumeCapabilitiesRequest request,
      StreamObserver<ValidateVolumeCapabilitiesResponse> caller) {
    Answer.give(caller, () -> volumes.validate(request));
  }

  @Override
  public void listVolumes(ListVolumesRequest request, StreamObserver<ListVolumesResponse> caller) {
    Answer.give(caller, () -> volumes.list(request));
  }

  @Override
  public void controllerGetVolume(
      ControllerGetVolumeRequest request, StreamObserver<ControllerGetVolumeResponse> caller) {
    Answer.give(caller, () -> volumes.get(request));
  }

  @Override
  public void controllerGetVolumeHealth(
      ControllerGetVolumeHealthRequest request,
      StreamObserver<ControllerGetVolumeHealthResponse> caller) {
    Answer.give(caller, () -> volumes.health(request));
  }

  @Override
  public void controllerListVolumeHealth(
      ControllerListVolumeHealthRequest request,
      StreamObserver<ControllerListVolumeHealthResponse> caller) {
    Answer.give(caller, () -> volumes.listHealth(request));
  }

  @Override
  public void getCapacity(GetCapacityRequest request, StreamObserver<GetCapacityResponse> caller) {
    Answer.give(caller, () -> volumes.capacity(request));
  }

  @Override
  public void createSnapshot(
      CreateSnapshotRequest request, StreamObserver<CreateSnapshotResponse> caller) {
    Answer.give(caller, () -> snapshots.create(request));
  }

  @Override
  public void deleteSnapshot(
      DeleteSnapshotRequest request, StreamObserver<DeleteSnapshotResponse> caller) {
    Answer.give(caller, () -> snapshots.delete(request));
  }

  @Override
  public void listSnapshots(
      ListSnapshotsRequest request, StreamObserver<ListSnapshotsResponse> caller) {
    Answer.give(caller, () -> snapshots.list(request));
  }

  @Override
  public void getSnapshot(GetSnapshotRequest request, StreamObserver<GetSnapshotResponse> caller) {
    Answer.give(caller, () -> snapshots.get(request));
  }

  @Override
  public void controllerExpandVolume(
      ControllerExpandVolumeRequest request,
      StreamObserver<ControllerExpandVolumeResponse> caller) {
    Answer.give(caller, () -> volumes.expand(request));
  }
}
