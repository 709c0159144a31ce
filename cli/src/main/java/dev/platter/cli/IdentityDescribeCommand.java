package dev.platter.cli;

import dev.platter.model.ByteSize;
import dev.platter.node.IdentityDisk;
import dev.platter.node.IdentityDisks;
import dev.platter.node.Node;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(name = "describe", description = "Show what is known of an identity.")
final class IdentityDescribeCommand extends NodeCommand {
  @Parameters(paramLabel = "IDENTITY", description = "Name of the identity.")
  @Nullable String name;

  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(Node opened) throws IOException {
    var key = node.identity(name);
    var disk = opened.identities().find(key).orElseThrow(() -> IdentityDisks.missing(key));
    output.print(described(disk, opened), out());
    out().flush();
  }

  /** In the words of the objects, as far as these have words for it. */
  private static Map<String, Object> described(IdentityDisk disk, Node opened) throws IOException {
    var identity = disk.identity();
    var spec = identity.spec();
    var out = new LinkedHashMap<String, Object>();
    out.put("namespace", identity.key().namespace());
    out.put("name", identity.key().name());
    out.put("identitySet", Optional.ofNullable(identity.set()));
    out.put("image", spec.image());
    out.put("firmwareUUID", Optional.ofNullable(spec.firmwareUuid()));
    out.put("firmwareUUIDPolicy", spec.uuidPolicy().word());
    out.put("type", spec.type().word());
    out.put("size", Optional.ofNullable(spec.size()).map(ByteSize::toString));
    out.put("creationTime", disk.made());
    out.put("ready", true);
    out.put("pool", disk.place().pool());
    out.put("file", disk.file());
    out.put("base", Optional.ofNullable(disk.place().digest()).map(opened.layout()::base));
    out.put("virtualSize", new Bytes(disk.size()));
    out.put("allocated", new Bytes(disk.allocated()));
    out.put("usedBy", opened.identities().users(identity.key()));
    return out;
  }
}
