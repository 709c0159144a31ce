package dev.platter.cluster.csi;

import com.google.protobuf.Int64Value;
import csi.v1.ControllerExpandVolumeRequest;
import csi.v1.ControllerExpandVolumeResponse;
import csi.v1.ControllerGetVolumeHealthRequest;
import csi.v1.ControllerGetVolumeHealthResponse;
import csi.v1.ControllerGetVolumeRequest;
import csi.v1.ControllerGetVolumeResponse;
import csi.v1.ControllerListVolumeHealthRequest;
import csi.v1.ControllerListVolumeHealthResponse;
import csi.v1.ControllerModifyVolumeRequest;
import csi.v1.ControllerModifyVolumeResponse;
import csi.v1.CreateVolumeRequest;
import csi.v1.CreateVolumeResponse;
import csi.v1.DeleteVolumeRequest;
import csi.v1.DeleteVolumeResponse;
import csi.v1.GetCapacityRequest;
import csi.v1.GetCapacityResponse;
import csi.v1.ListVolumesRequest;
import csi.v1.ListVolumesResponse;
import csi.v1.ValidateVolumeCapabilitiesRequest;
import csi.v1.ValidateVolumeCapabilitiesResponse;
import dev.platter.model.PlatterException;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.Volume;
import dev.platter.node.volumes.Volume.Origin;
import dev.platter.node.volumes.VolumeMounts;
import dev.platter.node.volumes.VolumeStore;
import io.grpc.Status;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the controller does with volumes. */
final class VolumeCalls {
  /** Parameters by which a volume begins as the disk of an image. */
  static final String IMAGE = "image";

  static final String SIZE = "size";

  private final VolumeMounts mounts;
  private final DrawnVolumes drawn;
  private final VolumeStore store;
  private final VolumeRequests requests;
  private final Handles handles;
  private final VolumeMessages messages;

  VolumeCalls(VolumeMounts mounts, DrawnVolumes drawn, VolumeRequests requests, Handles handles) {
    this.mounts = mounts;
    this.drawn = drawn;
    this.store = mounts.store();
    this.requests = requests;
    this.handles = handles;
    this.messages = new VolumeMessages(handles, requests);
  }

  CreateVolumeResponse create(CreateVolumeRequest request) throws IOException {
    var name = VolumeRequests.name(request.getName());
    VolumeRequests.capabilities(request.getVolumeCapabilitiesList());
    VolumeRequests.noParameters(request.getParametersMap());
    requests.reachable(request.getAccessibilityRequirements());
    var origin = messages.origin(request.getVolumeContentSource());
    var range = request.getCapacityRange();
    // What it was made from may be gone when the call is repeated.
    var known = store.volumeNamed(name);
    var volume =
        known.isPresent()
            ? known.get()
            : store.create(name, VolumeRequests.capacity(range, sizeOf(origin)), origin);
    if (!VolumeRequests.fits(range, volume.capacity())
        || !Objects.equals(volume.origin(), origin)) {
      throw exists("volume", name);
    }
    return CreateVolumeResponse.newBuilder().setVolume(messages.volume(volume)).build();
  }

  private long sizeOf(@Nullable Origin origin) throws IOException {
    if (origin == null) {
      return 0;
    }
    return switch (origin.kind()) {
      case VOLUME -> existing(origin.id()).capacity();
      case SNAPSHOT ->
          store.snapshot(origin.id()).orElseThrow(() -> messages.gone("snapshot")).size();
    };
  }

  private Volume existing(String id) throws IOException {
    return store.volume(id).orElseThrow(() -> messages.gone("volume"));
  }

  static RuntimeException exists(String kind, String name) {
    return Status.ALREADY_EXISTS
        .withDescription("there is another " + kind + " of the name " + name)
        .asRuntimeException();
  }

  DeleteVolumeResponse delete(DeleteVolumeRequest request) throws IOException {
    var id = messages.ownId(VolumeRequests.required(request.getVolumeId(), "volume_id"));
    if (id.isPresent()) {
      mounts.delete(id.get(), requests::isLeft);
      drawn.forget(id.get());
    }
    return DeleteVolumeResponse.getDefaultInstance();
  }

  /** A volume that nobody has had yet begins as the disk of an image which this node has. */
  ControllerModifyVolumeResponse draw(ControllerModifyVolumeRequest request) throws IOException {
    var id = messages.id("volume", request.getVolumeId());
    var parameters = request.getChangeableParametersMap();
    var size = parameters.getOrDefault(SIZE, "");
    if (!parameters.keySet().equals(Set.of(IMAGE, SIZE)) || !size.matches("[1-9][0-9]{0,17}")) {
      throw PlatterException.of(
          PlatterException.Code.INVALID, "a volume has no such parameters", "");
    }
    drawn.draw(id, parameters.getOrDefault(IMAGE, ""), Long.parseLong(size));
    return ControllerModifyVolumeResponse.getDefaultInstance();
  }

  ValidateVolumeCapabilitiesResponse validate(ValidateVolumeCapabilitiesRequest request)
      throws IOException {
    var id = messages.id("volume", request.getVolumeId());
    if (request.getVolumeCapabilitiesCount() == 0) {
      VolumeRequests.capabilities(List.of());
    }
    existing(id);
    var response = ValidateVolumeCapabilitiesResponse.newBuilder();
    try {
      VolumeRequests.capabilities(request.getVolumeCapabilitiesList());
      VolumeRequests.noParameters(request.getParametersMap());
    } catch (PlatterException e) {
      return response.setMessage(String.valueOf(e.getMessage())).build();
    }
    response
        .getConfirmedBuilder()
        .putAllVolumeContext(request.getVolumeContextMap())
        .addAllVolumeCapabilities(request.getVolumeCapabilitiesList())
        .putAllParameters(request.getParametersMap());
    return response.build();
  }

  ListVolumesResponse list(ListVolumesRequest request) throws IOException {
    var page =
        Page.of(store.volumes(), Volume::id, request.getStartingToken(), request.getMaxEntries());
    var response = ListVolumesResponse.newBuilder().setNextToken(page.next());
    page.entries().forEach(one -> response.addEntriesBuilder().setVolume(messages.volume(one)));
    return response.build();
  }

  ControllerGetVolumeResponse get(ControllerGetVolumeRequest request) throws IOException {
    var volume = existing(messages.id("volume", request.getVolumeId()));
    return ControllerGetVolumeResponse.newBuilder()
        .setVolume(messages.volume(volume))
        .setStatus(ControllerGetVolumeResponse.VolumeStatus.getDefaultInstance())
        .build();
  }

  ControllerGetVolumeHealthResponse health(ControllerGetVolumeHealthRequest request)
      throws IOException {
    var id = messages.id("volume", request.getVolumeId());
    return ControllerGetVolumeHealthResponse.newBuilder()
        .setVolumeHealth(messages.health(id, mounts.trouble(id)))
        .build();
  }

  ControllerListVolumeHealthResponse listHealth(ControllerListVolumeHealthRequest request)
      throws IOException {
    var page =
        Page.of(mounts.troubled(), Volume::id, request.getStartingToken(), request.getMaxEntries());
    var response = ControllerListVolumeHealthResponse.newBuilder().setNextToken(page.next());
    for (var volume : page.entries()) {
      response.addEntries(messages.health(volume.id(), mounts.trouble(volume.id())));
    }
    return response.build();
  }

  GetCapacityResponse capacity(GetCapacityRequest request) throws IOException {
    var room = requests.isHere(request.getAccessibleTopology()) ? store.room() : 0;
    return GetCapacityResponse.newBuilder()
        .setAvailableCapacity(room)
        .setMaximumVolumeSize(Int64Value.of(room))
        .build();
  }

  /**
   * Who makes claims larger asks one driver for the whole cluster. A volume of another node grows
   * when that node is asked, which is next.
   */
  ControllerExpandVolumeResponse expand(ControllerExpandVolumeRequest request) throws IOException {
    if (!request.hasCapacityRange()) {
      VolumeRequests.required("", "capacity_range");
    }
    var handle = VolumeRequests.required(request.getVolumeId(), "volume_id");
    var range = request.getCapacityRange();
    long capacity;
    if (handles.isElsewhere(handle)) {
      capacity = VolumeRequests.capacity(range, 0);
    } else {
      var volume = existing(messages.id("volume", handle));
      capacity =
          store.expand(volume.id(), VolumeRequests.grown(range, volume.capacity())).capacity();
    }
    return ControllerExpandVolumeResponse.newBuilder()
        .setCapacityBytes(capacity)
        .setNodeExpansionRequired(true)
        .build();
  }
}
