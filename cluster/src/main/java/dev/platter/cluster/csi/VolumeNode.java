package dev.platter.cluster.csi;

import csi.v1.NodeExpandVolumeRequest;
import csi.v1.NodeExpandVolumeResponse;
import csi.v1.NodeGetCapabilitiesRequest;
import csi.v1.NodeGetCapabilitiesResponse;
import csi.v1.NodeGetInfoRequest;
import csi.v1.NodeGetInfoResponse;
import csi.v1.NodeGetStorageHealthRequest;
import csi.v1.NodeGetStorageHealthResponse;
import csi.v1.NodeGetVolumeHealthRequest;
import csi.v1.NodeGetVolumeHealthResponse;
import csi.v1.NodeGetVolumeStatsRequest;
import csi.v1.NodeGetVolumeStatsResponse;
import csi.v1.NodeGrpc;
import csi.v1.NodePublishVolumeRequest;
import csi.v1.NodePublishVolumeResponse;
import csi.v1.NodeServiceCapability;
import csi.v1.NodeServiceCapability.RPC;
import csi.v1.NodeStageVolumeRequest;
import csi.v1.NodeStageVolumeResponse;
import csi.v1.NodeUnpublishVolumeRequest;
import csi.v1.NodeUnpublishVolumeResponse;
import csi.v1.NodeUnstageVolumeRequest;
import csi.v1.NodeUnstageVolumeResponse;
import csi.v1.StorageHealthErrorType;
import csi.v1.VolumeCapability;
import csi.v1.VolumeUsage;
import dev.platter.model.PlatterException;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.Use;
import dev.platter.node.volumes.VolumeMounts;
import dev.platter.node.volumes.VolumeStats;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Brings volumes of this node to its pods. */
final class VolumeNode extends NodeGrpc.NodeImplBase {
  private static final List<RPC.Type> CAPABILITIES =
      List.of(
          RPC.Type.STAGE_UNSTAGE_VOLUME,
          RPC.Type.GET_VOLUME_STATS,
          RPC.Type.EXPAND_VOLUME,
          RPC.Type.SINGLE_NODE_MULTI_WRITER,
          RPC.Type.GET_VOLUME_HEALTH,
          RPC.Type.GET_STORAGE_HEALTH);

  private final String nodeId;
  private final VolumeMounts mounts;
  private final DrawnVolumes drawn;
  private final VolumeRequests requests;
  private final VolumeMessages messages;

  VolumeNode(
      String nodeId,
      VolumeMounts mounts,
      DrawnVolumes drawn,
      VolumeRequests requests,
      Handles handles) {
    this.nodeId = nodeId;
    this.mounts = mounts;
    this.drawn = drawn;
    this.requests = requests;
    this.messages = new VolumeMessages(handles, requests);
  }

  @Override
  public void nodeGetInfo(NodeGetInfoRequest request, StreamObserver<NodeGetInfoResponse> caller) {
    Answer.give(
        caller,
        () ->
            NodeGetInfoResponse.newBuilder()
                .setNodeId(nodeId)
                .setAccessibleTopology(requests.topology())
                .build());
  }

  @Override
  public void nodeGetCapabilities(
      NodeGetCapabilitiesRequest request, StreamObserver<NodeGetCapabilitiesResponse> caller) {
    Answer.give(
        caller,
        () -> {
          var response = NodeGetCapabilitiesResponse.newBuilder();
          CAPABILITIES.forEach(
              type ->
                  response.addCapabilities(
                      NodeServiceCapability.newBuilder().setRpc(RPC.newBuilder().setType(type))));
          return response.build();
        });
  }

  @Override
  public void nodeStageVolume(
      NodeStageVolumeRequest request, StreamObserver<NodeStageVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          VolumeRequests.required(request.getVolumeId(), "volume_id");
          var staging = requests.path(request.getStagingTargetPath(), "staging_target_path");
          var use = use(request.hasVolumeCapability(), request.getVolumeCapability());
          var id = messages.id("volume", request.getVolumeId());
          // Only a device can be there before all of its bytes are.
          drawn.admit(id, use instanceof Use.Block);
          mounts.stage(id, staging, use);
          return NodeStageVolumeResponse.getDefaultInstance();
        });
  }

  private static Use use(boolean given, VolumeCapability capability) {
    if (!given) {
      throw PlatterException.of(
          PlatterException.Code.INVALID, "the request has no volume_capability", "");
    }
    return VolumeRequests.use(capability);
  }

  @Override
  public void nodeUnstageVolume(
      NodeUnstageVolumeRequest request, StreamObserver<NodeUnstageVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          VolumeRequests.required(request.getVolumeId(), "volume_id");
          var staging = requests.path(request.getStagingTargetPath(), "staging_target_path");
          var id = messages.id("volume", request.getVolumeId());
          mounts.unstage(id, staging);
          drawn.release(id);
          return NodeUnstageVolumeResponse.getDefaultInstance();
        });
  }

  @Override
  public void nodePublishVolume(
      NodePublishVolumeRequest request, StreamObserver<NodePublishVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          VolumeRequests.required(request.getVolumeId(), "volume_id");
          var target = requests.path(request.getTargetPath(), "target_path");
          var capability = request.getVolumeCapability();
          var use = use(request.hasVolumeCapability(), capability);
          var id = messages.id("volume", request.getVolumeId());
          drawn.admit(id, requests.isForVm(target));
          mounts.publish(
              id,
              requests.path(request.getStagingTargetPath(), "staging_target_path"),
              target,
              use,
              request.getReadonly() || VolumeRequests.readsOnly(capability),
              VolumeRequests.isAlone(capability));
          return NodePublishVolumeResponse.getDefaultInstance();
        });
  }

  @Override
  public void nodeUnpublishVolume(
      NodeUnpublishVolumeRequest request, StreamObserver<NodeUnpublishVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          VolumeRequests.required(request.getVolumeId(), "volume_id");
          var target = requests.path(request.getTargetPath(), "target_path");
          mounts.unpublish(messages.id("volume", request.getVolumeId()), target);
          return NodeUnpublishVolumeResponse.getDefaultInstance();
        });
  }

  @Override
  public void nodeGetVolumeStats(
      NodeGetVolumeStatsRequest request, StreamObserver<NodeGetVolumeStatsResponse> caller) {
    Answer.give(
        caller,
        () -> {
          VolumeRequests.required(request.getVolumeId(), "volume_id");
          var path = Path.of(VolumeRequests.required(request.getVolumePath(), "volume_path"));
          var id = messages.id("volume", request.getVolumeId());
          return usage(mounts.stats(id, path));
        });
  }

  private static NodeGetVolumeStatsResponse usage(VolumeStats stats) {
    var response = NodeGetVolumeStatsResponse.newBuilder();
    if (stats.bytes().isEmpty()) {
      response.addUsageBuilder().setUnit(VolumeUsage.Unit.BYTES).setTotal(stats.total());
    }
    stats.bytes().ifPresent(room -> response.addUsage(usage(VolumeUsage.Unit.BYTES, room)));
    stats.inodes().ifPresent(room -> response.addUsage(usage(VolumeUsage.Unit.INODES, room)));
    return response.build();
  }

  private static VolumeUsage usage(VolumeUsage.Unit unit, VolumeStats.Room room) {
    return VolumeUsage.newBuilder()
        .setUnit(unit)
        .setTotal(room.total())
        .setUsed(room.used())
        .setAvailable(room.available())
        .build();
  }

  @Override
  public void nodeExpandVolume(
      NodeExpandVolumeRequest request, StreamObserver<NodeExpandVolumeResponse> caller) {
    Answer.give(
        caller,
        () -> {
          VolumeRequests.required(request.getVolumeId(), "volume_id");
          var path = Path.of(VolumeRequests.required(request.getVolumePath(), "volume_path"));
          var id = messages.id("volume", request.getVolumeId());
          var volume = mounts.store().volume(id).orElseThrow(() -> messages.gone("volume"));
          var capacity = VolumeRequests.grown(request.getCapacityRange(), volume.capacity());
          return NodeExpandVolumeResponse.newBuilder()
              .setCapacityBytes(mounts.expand(id, path, capacity).capacity())
              .build();
        });
  }

  @Override
  public void nodeGetVolumeHealth(
      NodeGetVolumeHealthRequest request, StreamObserver<NodeGetVolumeHealthResponse> caller) {
    Answer.give(
        caller,
        () -> {
          var id = messages.id("volume", request.getVolumeId());
          return NodeGetVolumeHealthResponse.newBuilder()
              .setVolumeHealth(messages.health(id, mounts.trouble(id)))
              .build();
        });
  }

  @Override
  public void nodeGetStorageHealth(
      NodeGetStorageHealthRequest request, StreamObserver<NodeGetStorageHealthResponse> caller) {
    Answer.give(
        caller,
        () -> {
          var response = NodeGetStorageHealthResponse.newBuilder();
          try {
            mounts.store().room();
          } catch (IOException e) {
            response
                .addBackendHealthBuilder()
                .setStatus(StorageHealthErrorType.STORAGE_UNREACHABLE)
                .setReason("PoolUnreadable")
                .setMessage(e.toString());
          }
          return response.build();
        });
  }
}
