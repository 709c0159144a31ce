# shellcheck shell=bash
# find_jdk: sets and exports JAVA_HOME to a JDK of release 25 or newer, or says how to get one and exits with 6.
# It reads each candidate's `release` file and starts none of them.

readonly JDK_RELEASE=25

is_jdk() {
  [[ -x $1/bin/java && -x $1/bin/javac && -r $1/release ]] || return 1
  local line
  while read -r line; do
    if [[ $line =~ ^JAVA_VERSION=\"([0-9]+) ]]; then
      ((BASH_REMATCH[1] >= JDK_RELEASE))
      return
    fi
  done <"$1/release"
  return 1
}

find_jdk() {
  local home java
  if [[ -n ${JAVA_HOME:-} ]] && is_jdk "$JAVA_HOME"; then return 0; fi
  if java=$(command -v java) && java=$(readlink -f "$java") && is_jdk "${java%/bin/java}"; then
    export JAVA_HOME=${java%/bin/java}
    return 0
  fi
  for home in /usr/lib/jvm/* /opt/*jdk* "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/*; do
    if is_jdk "$home"; then
      export JAVA_HOME=$home
      return 0
    fi
  done
  printf '%s\n' "platter needs a JDK $JDK_RELEASE or newer and found none." \
    "Install Temurin or another JDK $JDK_RELEASE (https://adoptium.net) and set JAVA_HOME to it." >&2
  exit 6
}
