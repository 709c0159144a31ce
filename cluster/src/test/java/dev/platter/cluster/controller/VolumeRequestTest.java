package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskImport.Named;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a DataVolume means. */
class VolumeRequestTest {
  private static VolumeRequest read(String spec) {
    return VolumeRequest.read(Objects.dataVolume(spec));
  }

  private static DiskImport.Source source(String source) {
    var origin =
        read("{source: {" + source + "}, pvc: {resources: {requests: {storage: 1Gi}}}}").origin();
    return ((VolumeOrigin.Import) origin).source();
  }

  private static PersistentVolumeClaim claim(String storage) {
    return read("{source: {blank: {}}, " + storage + "}").claim(null);
  }

  @Test
  void sourcesBecomeThoseOfADiskImport() {
    assertThat(source("http: {url: \"https://a.example/x\", secretRef: login, certConfigMap: ca}"))
        .isEqualTo(
            new DiskImport.Source(
                null,
                new DiskImport.Http("https://a.example/x", new Named("login"), new Named("ca")),
                null,
                null));
    assertThat(source("registry: {url: \"docker://a.example/b:1\", pullMethod: node}"))
        .isEqualTo(
            new DiskImport.Source(
                new DiskImport.Registry("a.example/b:1", null, null), null, null, null));
    assertThat(
            source(
                "s3: {url: \"http://a.example:9000/b/dir/c d.raw\", secretRef: keys}"
                    .replace(" d", "%20d")))
        .isEqualTo(
            new DiskImport.Source(
                null,
                null,
                new DiskImport.S3(
                    "http://a.example:9000", "b", "dir/c d.raw", null, new Named("keys"), null),
                null));
    assertThat(source("s3: {url: \"https://s3.eu-west-1.amazonaws.com/b/c\"}").s3().region())
        .isEqualTo("eu-west-1");
  }

  @Test
  void anArchiveIsAFormatOfWhatFillsTheClaim() {
    var storage = "storage: {resources: {requests: {storage: 1Gi}}}}";
    var sent = read("{contentType: archive, source: {upload: {}}, " + storage).source();
    assertThat(sent.orElseThrow().archive()).isTrue();
    assertThat(
            read("{contentType: archive, source: {upload: {}}, " + storage)
                .claim(null)
                .getMetadata()
                .getAnnotations())
        .containsEntry("cdi.kubevirt.io/storage.contentType", "archive");
    var fetched =
        read("{contentType: archive, source: {http: {url: 'http://a/b'}}, " + storage).source();
    assertThat(fetched.orElseThrow().archive()).isTrue();
    var disk = read("{contentType: kubevirt, source: {upload: {}}, " + storage).source();
    assertThat(disk.orElseThrow().archive()).isFalse();
  }

  /** Bytes of the claim: {@code storage} is about the disk, {@code pvc} about the claim. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "storage: {resources: {requests: {storage: 10Gi}}}|10804527104",
        "storage: {volumeMode: Block, resources: {requests: {storage: 10Gi}}}|10737418240",
        "storage: {volumeMode: FromStorageProfile, resources: {requests: {storage: 95Mi}}}|104857600",
        "storage: {resources: {requests: {storage: 99614720}}}|104857600",
        "pvc: {accessModes: [ReadWriteMany], resources: {requests: {storage: 10Gi}}}|10737418240"
      })
  void theDiskFitsOnItsClaim(String storage, long bytes) {
    assertThat(PrimeClaim.size(claim(storage))).isEqualTo(bytes);
  }

  @Test
  void aCopyIsOfTheModeThatIsCopied() {
    var block = claim("pvc: {volumeMode: Block, resources: {requests: {storage: 1Gi}}}");
    var files = claim("storage: {resources: {requests: {storage: 1Gi}}}");
    var asked = "{source: {pvc: {name: a}}, storage: {resources: {requests: {storage: 1Gi}}}}";
    assertThat(read(asked).claim(block).getSpec().getVolumeMode()).isEqualTo("Block");
    assertThat(PrimeClaim.size(read(asked).claim(block))).isEqualTo(1 << 30);
    assertThat(read(asked).claim(files).getSpec().getVolumeMode()).isEqualTo("Filesystem");
    assertThat(PrimeClaim.size(read(asked).claim(files))).isEqualTo(PrimeClaim.size(files));
    var smaller = "{source: {pvc: {name: a}}, storage: {}}";
    assertThat(PrimeClaim.size(read(smaller).claim(files))).isEqualTo(PrimeClaim.size(files));
  }

  @Test
  void storageMayLeaveOutWhatAClaimHasToSay() {
    var made = claim("storage: {resources: {requests: {storage: 1Gi}}}").getSpec();
    assertThat(made.getAccessModes()).containsExactly("ReadWriteOnce");
    assertThat(made.getVolumeMode()).isEqualTo("Filesystem");
    assertThat(made.getStorageClassName()).isNull();
    var given =
        claim(
                "storage: {accessModes: [ReadWriteMany], volumeMode: Block, storageClassName: fast,"
                    + " resources: {requests: {storage: 1Gi}}}")
            .getSpec();
    assertThat(given.getAccessModes()).containsExactly("ReadWriteMany");
    assertThat(given.getVolumeMode()).isEqualTo("Block");
    assertThat(given.getStorageClassName()).isEqualTo("fast");
    assertThat(claim("pvc: {resources: {requests: {storage: 1Gi}}}").getSpec().getAccessModes())
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "contentType: archive, source: {blank: {}}, S|spec.contentType: an archive is sent",
        "contentType: archive, source: {registry: {url: 'docker://a/b'}}, S|spec.contentType: an archive is sent",
        "S|spec.source does not say where",
        "source: {blank: {}, upload: {}}, S|spec.source says more than once",
        "source: {gcs: {url: x}}, S|spec.source.gcs is not what Platter fills claims from",
        "source: {vddk: {}}, S|spec.source.vddk is not",
        "sourceRef: {kind: DataSource, name: x}, S|spec.sourceRef names a DataSource",
        "source: {blank: {}}, checkpoints: [{}], S|spec.checkpoints: Platter brings",
        "source: {blank: {}}, colour: red, S|spec.colour is not honoured",
        "source: {http: {url: x, extraHeaders: [a]}}, S|spec.source.http.extraHeaders is not",
        "source: {http: {}}, S|spec.source.http.url is missing",
        "source: {registry: {imageStream: x}}, S|spec.source.registry.imageStream is not honoured",
        "source: {registry: {url: 'oci-archive://x'}}, S|spec.source.registry.url is no docker://",
        "source: {registry: {url: 'docker://x', platform: {architecture: arm64}}}, S|platform is not honoured",
        "source: {s3: {url: 'https://a.example/key'}}, S|has no bucket and object",
        "source: {s3: {url: 'https://u:secret@a.example/b/key'}}, S|has no bucket and object",
        "source: {s3: {url: 'https://a b'}}, S|spec.source.s3.url is no address",
        "source: {pvc: {name: x, namespace: other}}, S|spec.source.pvc.namespace is another",
        "source: {snapshot: {name: x, namespace: other}}, S|spec.source.snapshot.namespace is another",
        "source: {pvc: {}}, S|spec.source.pvc.name is missing",
        "source: {pvc: {name: '?watch=true'}}, S|spec.source.pvc.name is no name of an object",
        "source: {pvc: {name: ../x}}, S|spec.source.pvc.name is no name of an object",
        "source: {snapshot: {name: a/b}}, S|spec.source.snapshot.name is no name of an object",
        "source: {blank: {}}|spec has to have one of pvc and storage",
        "source: {blank: {}}, pvc: {}, S|spec has to have one of pvc and storage",
        "source: {blank: {}}, storage: {}|spec.storage.resources.requests.storage is missing",
        "source: {blank: {}}, storage: {resources: {requests: {storage: lots}}}|is no size",
        "source: {blank: {}}, storage: {resources: {requests: {storage: 1e40}}}|is no size",
        "source: {blank: {}}, storage: {resources: {requests: {storage: 8191Pi}}}|is no size",
        "source: {blank: {}}, storage: {resources: {requests: {storage: -1}}}|is no size",
        "source: {blank: {}}, pvc: {volumeName: x}|spec.pvc.volumeName is not honoured",
        "source: {blank: {}}, pvc: {dataSource: {}}|spec.pvc.dataSource is not honoured"
      })
  void whatIsNotDoneIsSaid(String spec, String problem) {
    var storage = "storage: {resources: {requests: {storage: 1Gi}}}";
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> read("{" + spec.replaceAll("\\bS$", storage) + "}"))
        .withMessageContaining(problem)
        .withMessageNotContaining("secret");
  }
}
