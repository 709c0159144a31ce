package dev.platter.cli;

import picocli.CommandLine.Command;

/** {@code kubectl platter identity}. */
@Command(
    name = "identity",
    description =
        "List, move and remove the identities of VMs, whose root disks outlive their pods.",
    subcommands = {
      KubeIdentityLsCommand.class,
      KubeIdentityDescribeCommand.class,
      KubeIdentityMoveCommand.class,
      KubeIdentityRmCommand.class
    })
final class KubeIdentityCommand {}
