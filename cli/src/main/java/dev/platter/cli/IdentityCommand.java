package dev.platter.cli;

import picocli.CommandLine.Command;

/** {@code platter identity}: root disks that outlive the pods which use them. */
@Command(
    name = "identity",
    description =
        "List, move and remove the identities of VMs, whose root disks outlive their pods.",
    subcommands = {
      IdentityLsCommand.class,
      IdentityDescribeCommand.class,
      IdentityMoveCommand.class,
      IdentityRmCommand.class
    })
final class IdentityCommand {}
