package dev.platter.node;

import static dev.platter.node.VmStatus.Phase.STOPPED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.DebianGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A pod whose guest has systemd, udev and the real cloud-init. */
class DebianPodTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;

  @Test
  void volumesAreMountedAndFilesHaveTheirModes() throws Exception {
    // Building it takes longer than an idle libvirt lives.
    var image = DebianGuest.qcow2();
    try (var guest = new GuestNode(work, LIBVIRT.uri())) {
      var vm =
          guest.run(
              """
              apiVersion: v1
              kind: ConfigMap
              metadata: {name: special-config}
              data: {special.level: "very 'quoted' <&> ünïcode"}
              ---
              apiVersion: v1
              kind: ConfigMap
              metadata: {name: root-files}
              data: {motd: aW5qZWN0ZWQ=, motd_path: /etc/platter/injected}
              ---
              apiVersion: v1
              kind: Secret
              metadata: {name: key}
              stringData: {private: hunter2}
              ---
              apiVersion: v1
              kind: Secret
              metadata:
                name: default-token
                annotations: {kubernetes.io/service-account.name: default}
              type: kubernetes.io/service-account-token
              stringData: {token: a-token}
              ---
              apiVersion: v1
              kind: Pod
              metadata:
                name: debian
                annotations:
                  kubernetes.io/target-runtime: virtlet.cloud
                  VirtletRootVolumeSize: 1Mi
                  VirtletFilesFromDataSource: configmap/root-files
                  VirtletCloudInitUserData: |
                    write_files:
                    - path: /var/lib/cloud/scripts/per-boot/zz-test
                      permissions: "0755"
                      content: |
                        #!/bin/sh
                        [ -e /etc/platter/booted ] || exec touch /etc/platter/booted
                        cp -pL /run/secrets/kubernetes.io/serviceaccount/token /etc/platter/token-again
                        cp -pL /var/lib/docker/conf/special.level /etc/platter/on-disk-again
                        test -b /dev/vols/claimed && echo device > /etc/platter/claimed-again
                    runcmd:
                    - mkdir -p /etc/platter
                    - cp -pL /var/run/secrets/kubernetes.io/serviceaccount/token /etc/platter/token
                    - sh -c 'cd /dev/disk/by-id; readlink -f /dev/vols/claimed scsi-0QEMU_QEMU_HARDDISK_claimed | uniq | wc -l > /etc/platter/claimed'
                    - sh -c 'touch /mnt/ro/x || echo read-only > /etc/platter/ro'
              spec:
                containers:
                - name: vm
                  image: "virtlet.cloud/%s"
                  resources: {limits: {memory: 384Mi}}
                  env: [{name: GREETING, value: hello world}]
                  volumeDevices: [{name: claimed, devicePath: /dev/vols/claimed}]
                  volumeMounts:
                  - {name: a-volume-with-a-long-name, mountPath: /var/lib/docker}
                  - {name: second, mountPath: /mnt/ro, readOnly: true}
                  - {name: config, mountPath: /etc/platter}
                  - {name: secret, mountPath: /etc/platter/secret, subPath: private}
                  - {name: config, mountPath: /var/lib/docker/conf}
                volumes:
                - name: a-volume-with-a-long-name
                  flexVolume: {driver: virtlet/flexvolume_driver, options: {type: qcow2, capacity: 256MiB}}
                - name: second
                  flexVolume: {driver: virtlet/flexvolume_driver, options: {type: qcow2, capacity: 64MiB}}
                - name: config
                  configMap: {name: special-config, defaultMode: 0640}
                - name: secret
                  secret: {secretName: key, defaultMode: 0400}
                - name: claimed
                  persistentVolumeClaim: {claimName: claimed}
              ---
              kind: PersistentVolume
              metadata: {name: pv}
              spec:
                capacity: {storage: 64M}
                accessModes: [ReadWriteOnce]
                volumeMode: Block
                flexVolume: {driver: virtlet/flexvolume_driver, options: {type: qcow2, capacity: 64MB}}
              ---
              kind: PersistentVolumeClaim
              metadata: {name: claimed}
              spec:
                accessModes: [ReadWriteOnce]
                volumeMode: Block
                resources: {requests: {storage: 64M}}
              """
                  .formatted(guest.push("debian", image)));
      var console = guest.console(vm);
      console.await("^@@DONE", Duration.ofMinutes(10));
      assertThat(console.lines())
          .anyMatch(line -> line.matches("@@CLOUD-INIT status: done.*NoCloud.*"))
          .anyMatch(line -> line.contains("@@DMI uuid=" + vm.plan().uuid() + " hostname=debian"))
          .anyMatch(line -> line.matches("@@MOUNT /dev/sd.1 /var/lib/docker ext4 rw.*"))
          .anyMatch(line -> line.matches("@@MOUNT /dev/sd.1 /mnt/ro ext4 ro.*"))
          .contains(
              "@@FILE /etc/platter/special.level mode=640:root very 'quoted' <&> ünïcode",
              "@@FILE /etc/platter/secret mode=400:root hunter2",
              "@@FILE /etc/platter/token mode=644:root a-token",
              "@@FILE /etc/platter/claimed mode=644:root 1|",
              "@@FILE /etc/platter/injected mode=644:root injected",
              "@@FILE /etc/platter/ro mode=644:root read-only|");
      // The guest has powered off; what is in memory, and names of devices, must be there again.
      for (var i = 0; i < 600 && guest.node().status(vm.key()).phase() != STOPPED; i++) {
        Thread.sleep(100);
      }
      var again = guest.console(guest.node().start(vm.key()));
      again.await("^@@FILE /etc/platter/token-again mode=644:root a-token", Duration.ofMinutes(10));
      assertThat(again.lines())
          .contains(
              "@@FILE /etc/platter/on-disk-again mode=640:root very 'quoted' <&> ünïcode",
              "@@FILE /etc/platter/claimed-again mode=644:root device|");
    }
    assertThat(Shell.run("virsh", "-c", LIBVIRT.uri(), "list", "--all", "--name")).isBlank();
  }
}
