# shellcheck shell=bash
# Builds and starts the program of a module: its jars are MODULE/target/app/*.jar.
#
#   app_build MODULE [TRAINING]   builds it if a source is newer than the last build; TRAINING is the class
#                                 from whose run the JVM records its cache of loaded classes
#   app_exec MODULE CLASS ARG…    replaces this process by the JVM
#
# The JVM's own output is switched off: callers parse what the program prints, and a cache that does not fit is no error.
# JVM_OPTIONS can be added to before a call; the cache wants the same options in training and use.

JVM_OPTIONS=(-XX:+UseSerialGC -Xlog:disable -Xlog:all=off --enable-native-access=ALL-UNNAMED)

app_stale() {
  local stamp="$ROOT/target/$1.stamp"
  [[ -f $stamp ]] || return 0
  [[ -n $(find "$ROOT"/pom.xml "$ROOT"/.mvn "$ROOT"/scripts "$ROOT"/*/pom.xml "$ROOT"/*/src/main \
    -newer "$stamp" -print -quit) ]]
}

# `mvn verify` writes the jars anew, which makes the cache useless without making it wrong.
app_untrained() {
  local app="$ROOT/$1/target/app" jar
  [[ -n $2 ]] || return 1
  [[ -f $app.aot ]] || return 0
  for jar in "$app"/*.jar; do [[ ! $jar -nt $app.aot ]] || return 0; done
  return 1
}

app_build() {
  local module=$1 training=${2:-} lock
  app_stale "$module" || app_untrained "$module" "$training" || return 0
  mkdir -p "$ROOT/target"
  exec {lock}>"$ROOT/target/.lock"
  flock "$lock"
  # Another call may have done the work while this one waited.
  if app_stale "$module"; then app_compile "$module" {lock}>&-; fi
  if app_untrained "$module" "$training"; then app_train "$module" "$training" {lock}>&-; fi
  exec {lock}>&-
}

app_compile() {
  local module=$1 log="$ROOT/target/$1.log" stamp="$ROOT/target/$1.stamp"
  need build
  printf 'building platter …\n' >&2
  touch "$stamp.new" # from before the build: a source saved during it is newer
  # New files in place of overwritten ones: a running program keeps the jars it has open.
  rm -rf "$ROOT/$module/target/app" "$ROOT/$module/target/app.aot"
  # A second run of tests of the module image heeds `fuzzing` alone.
  if ! (cd "$ROOT" && mvn -q -pl "$module" -am -Dmaven.test.skip=true -Dfuzzing=true package) >"$log" 2>&1; then
    cat "$log" >&2
    printf 'the build failed; its output is also in %s\n' "$log" >&2
    exit 1
  fi
  mv "$stamp.new" "$stamp"
}

# Without a cache the program starts slower and works as well: a failure leaves an empty one, so as not to try each time.
app_train() {
  local app="$ROOT/$1/target/app"
  (app_environment && "$JAVA_HOME/bin/java" "${JVM_OPTIONS[@]}" -XX:AOTCacheOutput="$app.aot.new" \
    -cp "$(app_class_path "$1")" "$2") >"$ROOT/target/$1.aot.log" 2>&1 || : >"$app.aot.new"
  mv "$app.aot.new" "$app.aot"
}

app_class_path() {
  local jars=("$ROOT/$1"/target/app/*.jar) IFS=:
  printf '%s' "${jars[*]}"
}

# The JVM announces these on stderr. PLATTER_JAVA_OPTIONS takes their place.
app_environment() { unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS; }

app_exec() {
  local module=$1 class=$2 cache="$ROOT/$1/target/app.aot" options
  shift 2
  [[ ! -s $cache ]] || JVM_OPTIONS+=(-XX:AOTCache="$cache")
  read -r -a options <<<"${PLATTER_JAVA_OPTIONS:-}"
  app_environment
  exec "$JAVA_HOME/bin/java" "${JVM_OPTIONS[@]}" "${options[@]}" -Dplatter.home="$ROOT" \
    -cp "$(app_class_path "$module")" "$class" "$@"
}
