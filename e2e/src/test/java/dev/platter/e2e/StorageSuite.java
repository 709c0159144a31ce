package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.CsiSidecars;
import dev.platter.lab.InstalledPlatter;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Kubernetes' own tests of storage drivers ({@code External.Storage}), with the class
 * platter-local. Run by {@code ./storage-suite}, which says how.
 */
@Timeout(7200)
class StorageSuite {
  private static final String POOL = "/var/lib/platter/local-volumes";
  private static final Duration BUILD = Duration.ofMinutes(60);
  private static final Duration RUN = Duration.ofMinutes(110);

  /** They wait most of the time. */
  private static final int AT_ONCE = 4;

  private static final String DRIVER =
      """
      StorageClass: {FromExistingClassName: %s}
      SnapshotClass: {FromExistingClassName: platter-local}
      DriverInfo:
        Name: local.csi.platter.dev
        # XFS takes that much.
        SupportedSizeRange: {Min: 300Mi}
        SupportedFsType: {"": {}, ext4: {}, xfs: {}}
        SupportedMountOption: {noatime: {}}
        TopologyKeys: [local.csi.platter.dev/node]
        Capabilities:
          persistence: true
          block: true
          fsGroup: true
          exec: true
          snapshotDataSource: true
          pvcDataSource: true
          multipods: true
          RWX: false
          controllerExpansion: true
          nodeExpansion: true
          onlineExpansion: true
          offlineExpansion: true
          singleNodeVolume: true
          topology: true
          capacity: true
          readWriteOncePod: true
          multiplePVsSameID: true
          capReadOnlyMany: true
        StressTestOptions: {NumPods: 4, NumRestarts: 4}
        VolumeSnapshotStressTestOptions: {NumPods: 2, NumSnapshots: 4}
      """;

  @Test
  void kubernetesOwnTestsOfADriverPass() throws IOException {
    var programs = built("build");
    var images = built("images", programs);
    var report = Path.of(System.getProperty("suite.report"));
    try (var cluster = PlatterCluster.start();
        var _ = CsiSidecars.start(cluster.kube())) {
      prepare(cluster, images);
      var result = run(cluster, programs, report);
      var found = new StorageSuiteReport(Files.readString(report));
      System.out.println(found.page());
      assertThat(result.status()).as(tail(result.output())).isZero();
      assertThat(found.passed()).isGreaterThanOrEqualTo(Integer.getInteger("suite.least", 1));
    }
  }

  private static Path built(String script, Path... arguments) {
    var command = InstalledPlatter.command().resolveSibling("lab/kube/e2e").resolve(script);
    var words = Stream.concat(Stream.of(command), Stream.of(arguments)).toArray();
    return Path.of(Shell.shell().within(BUILD).check(words).out().strip());
  }

  private static void prepare(PlatterCluster cluster, Path images) throws IOException {
    try (var archives = Files.newDirectoryStream(images, "*.tar")) {
      for (var archive : archives) {
        cluster.kube().nodes().forEach(node -> node.loadImage(archive));
      }
    }
    cluster.install("--volumes", POOL + ":60Gi", "--sidecars", CsiSidecars.IMAGES);
    cluster.apply(LocalVolumes.XFS);
    for (var part : List.of("ds/platter-volumes", "deploy/platter-volumes-resizer")) {
      cluster.kubectl("-n", "platter-system", "rollout", "status", part, "--timeout=120s");
    }
  }

  private static Shell.Result run(PlatterCluster cluster, Path programs, Path report)
      throws IOException {
    var work = cluster.work();
    var driver =
        Files.writeString(
            work.resolve("driver.yaml"),
            DRIVER.formatted(System.getProperty("suite.class", "platter-local")));
    var images =
        Files.writeString(work.resolve("images.yaml"), "promoterE2eRegistry: lab.local/e2e\n");
    return Shell.shell()
        .within(RUN)
        .in(work)
        .with("KUBE_TEST_REPO_LIST", images.toString())
        .with("NO_PROXY", "*")
        .execute(
            Stream.of(
                    programs.resolve("ginkgo"),
                    "--procs=" + Integer.getInteger("suite.procs", AT_ONCE),
                    "--timeout=" + System.getProperty("suite.timeout", "100m"),
                    "--focus=External.Storage.*(" + System.getProperty("suite.focus") + ")",
                    "--skip=" + System.getProperty("suite.skip"),
                    "--junit-report=" + report.getFileName(),
                    "--output-dir=" + report.getParent(),
                    programs.resolve("e2e.test"),
                    "--",
                    "--kubeconfig=" + cluster.kube().kubeconfig(),
                    "--provider=skeleton",
                    "--num-nodes=2",
                    "--storage.testdriver=" + driver)
                .toArray());
  }

  private static String tail(String text) {
    return text.substring(Math.max(0, text.length() - 20_000));
  }
}
