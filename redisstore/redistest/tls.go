package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a maker of certificates that nobody else trusts.
type Authority struct {
	// Pool has its own certificate, for clients that trust it.
	Pool *x509.CertPool
	// PEM is that certificate as text.
	PEM []byte

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, Pool: x509.NewCertPool(), key: newKey(t)}
	template := certificate("an authority for tests")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der := a.sign(template, template, a.key)
	a.cert, _ = x509.ParseCertificate(der)
	a.Pool.AddCert(a.cert)
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// Issue makes a certificate for the loopback address and the name localhost. It
// serves servers and clients.
func (a *Authority) Issue() tls.Certificate {
	a.t.Helper()
	template := certificate("localhost")
	template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key := newKey(a.t)
	return tls.Certificate{Certificate: [][]byte{a.sign(template, a.cert, key)}, PrivateKey: key}
}

func (a *Authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certificate is what all certificates have, each with a number of its own.
func certificate(name string) *x509.Certificate {
	number, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // It does not fail.
	return &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// StartTLS starts a server that also speaks TLS, on the address that it returns,
// with a certificate of a. Without further settings it asks clients for none.
func StartTLS(t testing.TB, a *Authority, args ...string) (s *Server, addr string) {
	t.Helper()
	dir := t.TempDir()
	cert := a.Issue()
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	addr = FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	return Start(t, append([]string{
		"--tls-port", port, "--tls-auth-clients", "no",
		"--tls-ca-cert-file", write("ca", a.PEM),
		"--tls-cert-file", write("cert", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})),
		"--tls-key-file", write("key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}, args...)...), addr
}
