// Command pki writes the keys and certificates of one lab into a folder.
//
// One authority signs them all: the API server's certificate for loopback, client certificates of an administrator
// (one that holds and one that has expired), and the key pair that signs service-account tokens.
// A program of ours with the standard library only, so that the lab needs no openssl on the machine.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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
	key         *ecdsa.PrivateKey
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pki FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], time.Now()); err != nil {
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

// issue makes a key and a certificate that the authority signs, or that signs itself where there is none yet.
func issue(folder, name string, authority *pair, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
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

func save(folder, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return encode(filepath.Join(folder, name+".key"), "EC PRIVATE KEY", der)
}

func encode(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
