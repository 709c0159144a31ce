package dev.platter.cli;

import dev.platter.node.Doctor;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

@Command(
    name = "doctor",
    description = "Check what works on this machine, and say what to do about the rest.")
final class DoctorCommand implements Callable<Integer> {
  @Mixin NodeOptions node = new NodeOptions();

  @Mixin OutputOption output = new OutputOption();

  @Spec @Nullable CommandSpec spec;

  /** The exit status is that of a machine that lacks something, if it lacks what VMs need. */
  @Override
  public Integer call() {
    var listing = new Listing("check", "result", "found", "advice");
    var lacking = false;
    for (var finding : Doctor.examine(node.config())) {
      listing.row(finding.check(), finding.result().word(), finding.found(), finding.advice());
      lacking |= finding.result() == Doctor.Result.MISSING;
    }
    if (spec != null) {
      listing.print(output.format, spec.commandLine().getOut());
    }
    return lacking ? dev.platter.model.PlatterException.Code.UNAVAILABLE.exitStatus() : 0;
  }
}
