module lab/pki

go 1.26
