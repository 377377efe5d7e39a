use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

/// A moment within the validity of what is made here.
const NOW: i64 = 1_795_000_000;

fn params(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let distinguished = &mut params.distinguished_name;
    distinguished.push(DnType::OrganizationName, "Test");
    for name in names {
        distinguished.push(DnType::CommonName, *name);
    }
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params
}

fn authority() -> Issuer<'static, KeyPair> {
    let mut ca = params(&["CA"]);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Issuer::new(ca, KeyPair::generate().unwrap())
}

struct Proxied {
    pem: String,
    proxy_key: KeyPair,
}

/// A user and a proxy of theirs, with these parameters of the proxy.
fn proxied(change: impl FnOnce(&mut CertificateParams)) -> Proxied {
    let ca = authority();
    let user_key = KeyPair::generate().unwrap();
    let user_params = params(&["alice"]);
    let user = user_params.signed_by(&user_key, &ca).unwrap();
    let issuer = Issuer::new(user_params, user_key);
    let mut proxy = params(&["1234"]);
    let info = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 14], vec![0x30, 0]);
    proxy.custom_extensions.push(info);
    change(&mut proxy);
    let proxy_key = KeyPair::generate().unwrap();
    let leaf = proxy.signed_by(&proxy_key, &issuer).unwrap();
    Proxied {
        pem: leaf.pem() + &user.pem(),
        proxy_key,
    }
}

#[test]
fn no_two_names_are_written_alike() {
    let written = |names: &[&str]| {
        let key = KeyPair::generate().unwrap();
        let made = params(names).self_signed(&key).unwrap();
        slashed(parse(made.der()).unwrap().subject())
    };
    assert_eq!(written(&["alice/CN=bob"]), r"/O=Test/CN=alice\/CN=bob");
    assert_eq!(written(&[r"alice\/CN=bob"]), r"/O=Test/CN=alice\\\/CN=bob");
    // Hosts are written as grids write them.
    assert_eq!(written(&["host/a.example"]), "/O=Test/CN=host/a.example");
}

#[test]
fn a_proxy_chain_names_the_person_behind_it() {
    let made = proxied(|_| ());
    let key = made.proxy_key.public_key_raw().to_vec();
    let chain = check_chain(made.pem.as_bytes(), Some(&key), NOW).unwrap();
    assert_eq!(chain.identity, "/O=Test/CN=alice");
    assert!(chain.is_proxy);
}

#[test]
fn what_is_expired_foreign_or_no_chain_is_refused() {
    let made = proxied(|_| ());
    let other = KeyPair::generate().unwrap();
    let refused = |pem: &str, key: Option<&[u8]>, now, expected: &str| {
        let refused = check_chain(pem.as_bytes(), key, now).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    };
    let key = Some(other.public_key_raw());
    refused(&made.pem, key, NOW, "is for another key");
    refused(&made.pem, None, NOW + 400 * 86_400, "is valid from");
    let leaf = &made.pem[..made.pem.find("-----END").unwrap() + 25];
    let unknown = proxied(|_| ()).pem;
    let user = &unknown[unknown.find("-----END").unwrap() + 26..];
    let broken = format!("{leaf}\n{user}");
    refused(&broken, None, NOW, "is not signed by");
    refused("", None, NOW, "expected at least one in PEM");
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    refused(nonsense, None, NOW, "not a certificate in PEM");
}
