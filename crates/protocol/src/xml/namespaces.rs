//! The namespaces that documents here are made of.

/// SOAP 1.1.
pub const SOAP_1_1: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// SOAP 1.2.
pub const SOAP_1_2: &str = "http://www.w3.org/2003/05/soap-envelope";
/// WS-Addressing 1.0.
pub const ADDRESSING: &str = "http://www.w3.org/2005/08/addressing";
/// The attributes that XML itself defines.
pub const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// Attributes such as `xsi:nil` and `xsi:schemaLocation`.
pub const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// The namespace of the `problem` element in the detail of our faults.
pub const PROBLEM: &str = "urn:gridrig:soap:1";
/// The factory's namespace.
pub const FACTORY: &str = "http://schemas.ggf.org/bes/2006/08/bes-factory";
/// The management port's namespace.
pub const MANAGEMENT: &str = "http://schemas.ggf.org/bes/2006/08/bes-management";
/// JSDL 1.0.
pub const JSDL: &str = "http://schemas.ggf.org/jsdl/2005/11/jsdl";
/// The POSIX application of JSDL 1.0.
pub const POSIX: &str = "http://schemas.ggf.org/jsdl/2005/11/jsdl-posix";
/// The application of the HPC Profile.
pub const HPC_PROFILE: &str = "http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcpa";
/// The SPMD application.
pub const SPMD: &str = "http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd";
/// Our own elements; `resources/xsd/gridrig-jsdl.xsd` describes them.
pub const JSDL_OWN: &str = "urn:gridrig:jsdl:1";
/// The namespace of the messages.
pub const LAGRID: &str = "urn:gridrig:lagrid:1";
/// WS-Agreement 1.0 (GFD.107, GFD.192).
pub const AGREEMENT: &str = "http://schemas.ggf.org/graap/2007/03/ws-agreement";
/// Our own elements in messages of WS-Agreement; `resources/wsdl/ws-agreement.wsdl`
/// describes them.
pub const AGREEMENT_OWN: &str = "urn:gridrig:ws-agreement:1";
/// WS-ResourceProperties 1.2.
pub const PROPERTIES: &str = "http://docs.oasis-open.org/wsrf/rp-2";
/// Schemas, and the facets within them.
pub const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema";
