package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.model.ClaimSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.Source;
import org.jspecify.annotations.Nullable;

/** What a container answered, or serves, as the source of a disk is written. */
final class Answer {
  private Answer() {}

  static String json(@Nullable Source source) {
    var out = JsonNodeFactory.instance.objectNode();
    switch (source) {
      case ClaimSource claim -> out.putObject("pvc").put("claimname", claim.claim());
      case IscsiSource iscsi -> {
        var fields = out.putObject("iscsi");
        fields.putObject("host").put("name", iscsi.host().host()).put("port", iscsi.host().port());
        fields.put("portal", iscsi.portal()).put("lun", iscsi.lun());
        var login = iscsi.login();
        if (login != null) {
          var name = login.secret().name();
          var secret = fields.putObject("auth").put("user", login.user()).putObject("secret");
          secret.put("name", name.substring(name.indexOf('/') + 1));
        }
      }
      case null, default -> throw new IllegalArgumentException("no container answers " + source);
    }
    return out.toString();
  }
}
