// Command pki writes the keys and certificates of one lab into a folder.
//
// One authority signs them all: the API server's certificate for loopback, client certificates of an administrator
// (one that holds and one that has expired), and the key pair that signs service-account tokens.
// With --operators: an authority and a server certificate for the operators' webhooks, by which Kueue must be able to
// recognise its own (hence their names) and whose key it reads as PKCS#1 (hence RSA).
// A program of ours with the standard library only, so that the lab needs no openssl on the machine.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func main() {
	make, arguments := write, os.Args[1:]
	if len(arguments) == 2 && arguments[0] == "--operators" {
		make, arguments = writeOperators, arguments[1:]
	}
	if len(arguments) != 1 {
		fmt.Fprintln(os.Stderr, "usage: pki [--operators] FOLDER")
		os.Exit(2)
	}
	if err := make(arguments[0], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func write(folder string, now time.Time) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	begin, end := now.Add(-48*time.Hour), now.AddDate(10, 0, 0)
	authority, err := issue(folder, "ca", nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "modelyard-lab"},
		NotBefore:             begin,
		NotAfter:              end,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	if err != nil {
		return err
	}
	administrator := pkix.Name{CommonName: "lab-admin", Organization: []string{"system:masters"}}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for name, template := range map[string]*x509.Certificate{
		"apiserver": {
			Subject:     pkix.Name{CommonName: "kube-apiserver"},
			NotBefore:   begin,
			NotAfter:    end,
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		},
		"admin":   {Subject: administrator, NotBefore: begin, NotAfter: end, ExtKeyUsage: client},
		"expired": {Subject: administrator, NotBefore: begin, NotAfter: begin.Add(24 * time.Hour), ExtKeyUsage: client},
	} {
		if _, err := issue(folder, name, authority, template); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return save(folder, "service-account", key)
}

func writeOperators(folder string, now time.Time) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	begin, end := now.Add(-48*time.Hour), now.AddDate(10, 0, 0)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	authority, err := sign(folder, "ca", nil, key, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kueue-ca", Organization: []string{"kueue"}},
		DNSNames:              []string{"kueue-ca"},
		NotBefore:             begin,
		NotAfter:              end,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	if err != nil {
		return err
	}
	const service = "kueue-webhook-service.kueue-system.svc"
	_, err = issue(folder, "tls", authority, &x509.Certificate{
		Subject:     pkix.Name{CommonName: service},
		NotBefore:   begin,
		NotAfter:    end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost", service},
	})
	return err
}

// issue makes a key and a certificate that the authority signs, or that signs itself where there is none yet.
func issue(folder, name string, authority *pair, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return sign(folder, name, authority, key, template)
}

// sign makes the certificate of a key that there is.
func sign(folder, name string, authority *pair, key crypto.Signer, template *x509.Certificate) (*pair, error) {
	var err error
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	signer := &pair{template, key}
	if authority != nil {
		signer = authority
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	if err := encode(filepath.Join(folder, name+".crt"), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &pair{certificate, key}, save(folder, name, key)
}

func save(folder, name string, key crypto.Signer) error {
	path := filepath.Join(folder, name+".key")
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return encode(path, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return err
		}
		return encode(path, "EC PRIVATE KEY", der)
	default:
		return fmt.Errorf("%s: a key of type %T cannot be saved", path, key)
	}
}

func encode(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
