package dev.platter.cli;

import picocli.CommandLine.Command;

/** {@code platter disk}: the disks of a VM, most of it while it runs. */
@Command(
    name = "disk",
    description = "List the disks of a VM, and change them while it runs.",
    subcommands = {
      DiskLsCommand.class,
      DiskGrowCommand.class,
      DiskAttachCommand.class,
      DiskDetachCommand.class,
      DiskSnapshotCommand.class,
      DiskRmsnapshotCommand.class
    })
final class DiskCommand {}
