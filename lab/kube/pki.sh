# shellcheck shell=bash
# Certificates of the lab, from authorities that end with it, in $LAB/pki: one for all, and one by which the API server is known to those
# who it passes requests on to.

make_authority() (
  mkdir -p "$LAB/pki"
  cd -- "$LAB/pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 365 -subj /CN=lab -keyout ca.key -out ca.crt 2>/dev/null
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 365 -subj /CN=front-proxy-ca -keyout front-proxy-ca.key -out front-proxy-ca.crt 2>/dev/null
  openssl genrsa -out accounts.key 2048 2>/dev/null
  openssl rsa -in accounts.key -pubout -out accounts.pub 2>/dev/null
)

# certificate NAME SUBJECT [ALTERNATIVE-NAMES] [AUTHORITY]: for a client, and with names for a server too.
certificate() {
  local names=() ca=${4:-ca}
  [[ -z ${3:-} ]] || names=(-addext "subjectAltName=$3")
  openssl req -x509 -CA "$LAB/pki/$ca.crt" -CAkey "$LAB/pki/$ca.key" -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 365 \
    -subj "$2" "${names[@]}" -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=clientAuth,serverAuth \
    -keyout "$LAB/pki/$1.key" -out "$LAB/pki/$1.crt" 2>/dev/null
}

# kubeconfig NAME: in $LAB/NAME.kubeconfig, for the user of the certificate.
kubeconfig() {
  local pki=$LAB/pki
  cat >"$LAB/$1.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://$CONTROL", certificate-authority: $pki/ca.crt}}]
users: [{name: $1, user: {client-certificate: $pki/$1.crt, client-key: $pki/$1.key}}]
contexts: [{name: lab, context: {cluster: lab, user: $1}}]
current-context: lab
END
}
