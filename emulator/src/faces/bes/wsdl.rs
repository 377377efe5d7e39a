//! The description of the service.

/// The WSDL with a placeholder for the address.
const TEMPLATE: &str = include_str!("../../../../resources/wsdl/bes.wsdl");
/// What stands in it for the address.
const PLACEHOLDER: &str = "http://localhost/services/bes";

/// The WSDL of the service at this address. The address has no character that
/// XML would need escaped.
pub(super) fn document(address: &str) -> String {
    TEMPLATE.replace(PLACEHOLDER, address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_the_address() {
        assert_eq!(TEMPLATE.matches(PLACEHOLDER).count(), 2);
        let text = document("https://h:1/x");
        assert!(!text.contains(PLACEHOLDER));
        assert_eq!(text.matches("https://h:1/x").count(), 2);
    }
}
