package dev.platter.cluster.csi;

import com.google.protobuf.Timestamp;
import csi.v1.Snapshot;
import csi.v1.Volume;
import csi.v1.VolumeContentSource;
import csi.v1.VolumeHealth;
import csi.v1.VolumeHealthErrorType;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.volumes.Trouble;
import dev.platter.node.volumes.Volume.Origin;
import io.grpc.Status;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Volumes and snapshots in the words of CSI, and back. */
record VolumeMessages(Handles handles, VolumeRequests requests) {
  Volume volume(dev.platter.node.volumes.Volume volume) {
    var message =
        Volume.newBuilder()
            .setVolumeId(handles.of(volume.id()))
            .setCapacityBytes(volume.capacity())
            .addAccessibleTopology(requests.topology());
    var origin = volume.origin();
    if (origin != null) {
      message.setContentSource(source(origin));
    }
    return message.build();
  }

  private VolumeContentSource source(Origin origin) {
    var source = VolumeContentSource.newBuilder();
    switch (origin.kind()) {
      case VOLUME -> source.getVolumeBuilder().setVolumeId(handles.of(origin.id()));
      case SNAPSHOT -> source.getSnapshotBuilder().setSnapshotId(handles.of(origin.id()));
    }
    return source.build();
  }

  @Nullable Origin origin(VolumeContentSource source) {
    if (handles.isElsewhere(source.getVolume().getVolumeId())
        || handles.isElsewhere(source.getSnapshot().getSnapshotId())) {
      // By this code a provisioner knows that another node is to be tried.
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("what the volume is to be made from is on another node")
          .asRuntimeException();
    }
    return switch (source.getTypeCase()) {
      case VOLUME -> new Origin(Origin.Kind.VOLUME, id("volume", source.getVolume().getVolumeId()));
      case SNAPSHOT ->
          new Origin(Origin.Kind.SNAPSHOT, id("snapshot", source.getSnapshot().getSnapshotId()));
      case TYPE_NOT_SET -> null;
    };
  }

  Snapshot snapshot(dev.platter.node.volumes.Snapshot snapshot) {
    return Snapshot.newBuilder()
        .setSnapshotId(handles.of(snapshot.id()))
        .setSourceVolumeId(handles.of(snapshot.volume()))
        .setSizeBytes(snapshot.size())
        .setCreationTime(
            Timestamp.newBuilder()
                .setSeconds(snapshot.taken() / 1000)
                .setNanos((int) (snapshot.taken() % 1000) * 1_000_000))
        .setReadyToUse(true)
        .addAccessibleTopology(requests.topology())
        .build();
  }

  VolumeHealth health(String id, Optional<Trouble> trouble) {
    var health = VolumeHealth.newBuilder().setVolumeId(handles.of(id));
    trouble.ifPresent(
        one ->
            health
                .addHealthStatusesBuilder()
                .setStatus(status(one.kind()))
                .setReason(reason(one.kind()))
                .setMessage(one.message()));
    return health.build();
  }

  private static VolumeHealthErrorType status(Trouble.Kind kind) {
    return switch (kind) {
      case FILE_MISSING -> VolumeHealthErrorType.DATA_LOSS;
      case FILE_SYSTEM_STOPPED -> VolumeHealthErrorType.INACCESSIBLE;
    };
  }

  private static String reason(Trouble.Kind kind) {
    return switch (kind) {
      case FILE_MISSING -> "FileMissing";
      case FILE_SYSTEM_STOPPED -> "FileSystemStopped";
    };
  }

  /** Fails if it can be none of this node. */
  String id(String kind, String handle) {
    return handles.id(VolumeRequests.required(handle, kind + "_id")).orElseThrow(() -> gone(kind));
  }

  PlatterException gone(String kind) {
    return PlatterException.of(Code.NOT_FOUND, "there is no such " + kind + " on this node", "");
  }

  /** Empty if there is nothing of that handle anywhere. */
  Optional<String> ownId(String handle) {
    if (handles.isElsewhere(handle)) {
      throw PlatterException.of(
          Code.CONFLICT, handle + " is on another node", "Ask the driver of that node.");
    }
    return handles.id(handle);
  }
}
