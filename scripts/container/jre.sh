# shellcheck shell=bash
# The middle layer: a JRE of the modules that Platter and its libraries use.

# In the order of their names. jdk.jcmd is for people: threads and heap of a daemon, by kubectl exec.
readonly JRE_MODULES=java.base,java.logging,java.management,java.naming,java.net.http,java.xml,jdk.httpserver,jdk.jcmd,jdk.jfr,jdk.unsupported

# jre_layer CACHE: sets JRE.
jre_layer() {
  JRE=$1/jre-$(key "$EPOCH" "$(<"$JAVA_HOME/release")" <"$CONTAINER/jre.sh")
  layer_make "$JRE" jre_tree
  layer_prune "$1" jre
}

# Not compressed: the layer is, and classes are loaded faster so.
jre_tree() {
  mkdir tree/opt
  "$JAVA_HOME/bin/jlink" --add-modules "$JRE_MODULES" --strip-java-debug-attributes --no-man-pages --no-header-files \
    --generate-cds-archive --output tree/opt/jre >&2
  rm -f tree/opt/jre/lib/server/classes_*.jsa # the classes of our roles are in caches of their own
  # The caches of classes remember when the JRE was made: here as in the image.
  find tree -exec touch -h -d "@$EPOCH" {} +
}
