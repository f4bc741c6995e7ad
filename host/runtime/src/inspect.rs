//! What a module shows before any of it runs: its size, what it imports, what it exports.

use std::fmt;

use portcullis_bindings::{LINES, Line, PACKAGE};
use portcullis_model::{Digest, GateName};
use wasmparser::{Encoding, Parser, Payload};

/// The largest module that is read. Interpreted languages embed their interpreter: the largest known weighs 40 MB.
pub const LARGEST_MODULE: usize = 64 * 1024 * 1024;

/// Imports or exports of one module that are looked at; contract and WASI together have fewer than 40.
const MOST_NAMES: usize = 256;

/// The largest function in bytes. Compiling takes more than its share of time for each byte of a large one; the loop of
/// an interpreter, the largest that is honest, has a fifth of this.
const LARGEST_FUNCTION: usize = 1024 * 1024;

/// Packages of the inert WASI.
const INERT: [&str; 6] = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

/// Interfaces of requests over HTTP. Others of their package are for servers.
const HTTP: [&str; 2] = ["wasi:http/types@0.2.", "wasi:http/outgoing-handler@0.2."];

/// What a policy may use besides its settings, packs, subject and facts. The import list is the capability list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// A WASI with nothing in it.
    InertWasi,
    /// Requests over HTTP, to origins that the operator names.
    OutgoingHttp,
}

impl Capability {
    /// Returns true where the operator has to grant it: with it, a policy reaches what is outside of its evaluation.
    pub fn needs_grant(self) -> bool {
        matches!(self, Self::OutgoingHttp)
    }
}

/// What a module is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Plain,
    InertWasi,
    Http,
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InertWasi => formatter.write_str("inert-wasi"),
            Self::OutgoingHttp => formatter.write_str("outgoing-http"),
        }
    }
}

/// A module that no policy can be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// It is larger than what is read.
    #[error("the module has {size} bytes; at most {LARGEST_MODULE} are read")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// It is no WebAssembly.
    #[error("the module is no WebAssembly component")]
    Invalid(#[source] InvalidModule),
    /// It is a core module.
    #[error("the module is a core module, not a component; hint: encode it with `wasm-tools component new`")]
    CoreModule,
    /// It names a line of the contract that this host does not have.
    #[error("`{interface}` is of a line that this host does not have; supported: {}", supported())]
    UnknownLine {
        /// The interface, as the module names it.
        interface: String,
    },
    /// It was made for a later version of a line that this host has.
    #[error("`{interface}` is newer than this host; supported: {}; hint: update portcullis", supported())]
    NewerThanHost {
        /// The interface, as the module names it.
        interface: String,
    },
    /// The contract has no such interface.
    #[error("the contract has no interface `{interface}` on this side")]
    UnknownInterface {
        /// The interface, as the module names it.
        interface: String,
    },
    /// It imports something that nobody granted.
    #[error("the module imports `{import}`, which no grant covers; no capability of that name exists in this version")]
    MissingGrant {
        /// The import.
        import: String,
    },
    /// It does not export the lifecycle.
    #[error("the module is no policy: it does not export `{PACKAGE}/lifecycle`")]
    NoLifecycle,
    /// It exports no gate.
    #[error("the module exports no gate")]
    NoGate,
    /// A function is larger than any that is honest.
    #[error("the module has a function of {size} bytes; at most {LARGEST_FUNCTION} are compiled")]
    LargeFunction {
        /// Its size in bytes.
        size: usize,
    },
    /// It has more imports or exports than any policy needs.
    #[error("the module has more than {MOST_NAMES} imports or exports")]
    TooManyNames,
}

/// What the parser said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {offset}")]
pub struct InvalidModule {
    message: String,
    offset: usize,
}

impl From<wasmparser::BinaryReaderError> for InspectError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Invalid(InvalidModule { message: error.message().to_owned(), offset: error.offset() })
    }
}

/// Returns the lines of the contract that this host has, for people.
pub fn supported() -> String {
    let line = |line: &Line| {
        let (major, minor, patch) = line.version;
        format!("{PACKAGE}@{major}.{minor} (up to {major}.{minor}.{patch})")
    };
    LINES.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// Returns true where a module or component ends within one of its outermost sections, each of which says how long it is
/// (WebAssembly core specification, binary format, "sections").
pub(crate) fn is_cut_off(wasm: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\0asm";
    let Some(mut rest) = wasm.strip_prefix(MAGIC).and_then(|rest| rest.get(4..)) else {
        return !wasm.is_empty() && (MAGIC.starts_with(wasm) || wasm.starts_with(MAGIC));
    };
    while let Some((_, sized)) = rest.split_first() {
        let Some(next) = section(sized) else { return true };
        rest = next;
    }
    false
}

/// Skips a section after its id: a number of at most 32 bits, seven in each byte, and so many bytes.
fn section(bytes: &[u8]) -> Option<&[u8]> {
    let mut size = 0_usize;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        size |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return bytes.get(index + 1..)?.get(size..);
        }
    }
    None
}

/// What a module shows before any of it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Digest of the module.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: usize,
    /// Everything that it imports.
    pub imports: Vec<String>,
    /// Everything that it exports.
    pub exports: Vec<String>,
    /// The capabilities that those imports are.
    pub capabilities: Vec<Capability>,
    /// The gates whose interfaces it exports.
    pub gates: Vec<GateName>,
}

impl Inspection {
    /// Reads the names of a module, and refuses what no policy can be made of.
    pub fn of(wasm: &[u8]) -> Result<Self, InspectError> {
        if wasm.len() > LARGEST_MODULE {
            return Err(InspectError::TooLarge { size: wasm.len() });
        }
        let names = Names::read(wasm)?;
        let mut capabilities = Vec::new();
        for import in &names.imports {
            if let Some(capability) = check_import(import)?
                && !capabilities.contains(&capability)
            {
                capabilities.push(capability);
            }
        }
        let mut lifecycle = false;
        let mut gates = Vec::new();
        for export in &names.exports {
            match check_export(export)? {
                Some(Export::Lifecycle) => lifecycle = true,
                Some(Export::Gate(gate)) => gates.push(gate),
                None => {}
            }
        }
        if !lifecycle {
            return Err(InspectError::NoLifecycle);
        }
        if gates.is_empty() {
            return Err(InspectError::NoGate);
        }
        gates.sort_unstable();
        gates.dedup();
        Ok(Self {
            digest: Digest::of(wasm),
            size: wasm.len(),
            imports: names.imports,
            exports: names.exports,
            capabilities,
            gates,
        })
    }

    /// Returns true where it imports something that an operator has to grant. Such a policy is no pure function.
    pub fn needs_grant(&self) -> bool {
        self.capabilities.iter().any(|capability| capability.needs_grant())
    }

    /// Returns what the module is linked with.
    pub(crate) fn links(&self) -> Links {
        if self.capabilities.contains(&Capability::OutgoingHttp) {
            Links::Http
        } else if self.capabilities.contains(&Capability::InertWasi) {
            Links::InertWasi
        } else {
            Links::Plain
        }
    }
}

#[derive(Default)]
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    fn read(wasm: &[u8]) -> Result<Self, InspectError> {
        let mut names = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            if let Payload::Version { encoding: Encoding::Module, .. } = payload
                && depth == 0
            {
                return Err(InspectError::CoreModule);
            }
            if let Payload::CodeSectionEntry(body) = &payload
                && body.range().len() > LARGEST_FUNCTION
            {
                return Err(InspectError::LargeFunction { size: body.range().len() });
            }
            if let Payload::ModuleSection { .. } | Payload::ComponentSection { .. } = payload {
                depth += 1;
            } else if let Payload::End(_) = payload {
                depth = depth.saturating_sub(1);
            } else if depth == 0 {
                names.take(payload)?;
            }
            if names.imports.len() > MOST_NAMES || names.exports.len() > MOST_NAMES {
                return Err(InspectError::TooManyNames);
            }
        }
        Ok(names)
    }

    fn take(&mut self, payload: Payload<'_>) -> Result<(), InspectError> {
        if let Payload::ComponentImportSection(section) = payload {
            for import in section.into_iter().take(MOST_NAMES + 1) {
                self.imports.push(import?.name.name.to_owned());
            }
        } else if let Payload::ComponentExportSection(section) = payload {
            for export in section.into_iter().take(MOST_NAMES + 1) {
                self.exports.push(export?.name.name.to_owned());
            }
        }
        Ok(())
    }
}

/// Splits `package/interface@version` and finds the line, where the package is the contract.
fn interface_of_contract(name: &str) -> Result<Option<(&'static Line, &str)>, InspectError> {
    let Some(rest) = name.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('/')) else {
        return Ok(None);
    };
    let unknown = || InspectError::UnknownLine { interface: name.to_owned() };
    let (interface, version) = rest.split_once('@').ok_or_else(unknown)?;
    let mut numbers = version.splitn(3, '.').map(|number| number.parse::<u64>().ok());
    let (Some(Some(major)), Some(Some(minor)), Some(Some(patch))) = (numbers.next(), numbers.next(), numbers.next())
    else {
        return Err(unknown());
    };
    let line = LINES.iter().find(|line| (line.version.0, line.version.1) == (major, minor)).ok_or_else(unknown)?;
    if patch > line.version.2 {
        return Err(InspectError::NewerThanHost { interface: name.to_owned() });
    }
    Ok(Some((line, interface)))
}

fn check_import(name: &str) -> Result<Option<Capability>, InspectError> {
    match interface_of_contract(name)? {
        Some((line, interface)) if line.imports.contains(&interface) => Ok(None),
        Some(_) => Err(InspectError::UnknownInterface { interface: name.to_owned() }),
        None if HTTP.iter().any(|interface| name.starts_with(interface)) => Ok(Some(Capability::OutgoingHttp)),
        None if INERT.iter().any(|package| name.starts_with(package)) => Ok(Some(Capability::InertWasi)),
        None => Err(InspectError::MissingGrant { import: name.to_owned() }),
    }
}

enum Export {
    Lifecycle,
    Gate(GateName),
}

fn check_export(name: &str) -> Result<Option<Export>, InspectError> {
    match interface_of_contract(name)? {
        Some((_, "lifecycle")) => Ok(Some(Export::Lifecycle)),
        Some((line, interface)) if !line.exports.contains(&interface) => {
            Err(InspectError::UnknownInterface { interface: name.to_owned() })
        }
        Some((_, interface)) => match interface.strip_suffix("-gate").and_then(GateName::parse) {
            Some(gate) => Ok(Some(Export::Gate(gate))),
            None => Err(InspectError::UnknownInterface { interface: name.to_owned() }),
        },
        // What else a component exports is nobody's business here.
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_module_is_told_apart_from_a_component() {
        let wasm = wat::parse_str("(module)").unwrap();
        assert_eq!(Inspection::of(&wasm), Err(InspectError::CoreModule));
    }

    #[test]
    fn garbage_is_refused_with_the_place() {
        assert!(matches!(Inspection::of(b"\0asmgarbage"), Err(InspectError::Invalid(_))));
        assert!(matches!(Inspection::of(b""), Err(InspectError::Invalid(_) | InspectError::NoLifecycle)));
    }

    #[test]
    fn a_component_without_lifecycle_is_no_policy() {
        let wasm = wat::parse_str("(component)").unwrap();
        assert_eq!(Inspection::of(&wasm), Err(InspectError::NoLifecycle));
    }

    #[test]
    fn an_unknown_line_is_refused_with_the_supported_ones() {
        let wasm = wat::parse_str(r#"(component (import "portcullis:policy/types@0.9.0" (instance)))"#).unwrap();
        let error = Inspection::of(&wasm).unwrap_err();
        assert_eq!(error, InspectError::UnknownLine { interface: "portcullis:policy/types@0.9.0".to_owned() });
        assert!(error.to_string().contains("portcullis:policy@0.1"), "{error}");
    }

    #[test]
    fn a_later_version_of_the_line_is_refused_as_such() {
        let wasm = wat::parse_str(r#"(component (import "portcullis:policy/log@0.1.7" (instance)))"#).unwrap();
        assert!(matches!(Inspection::of(&wasm), Err(InspectError::NewerThanHost { .. })));
    }

    #[test]
    fn an_import_without_grant_is_named() {
        for import in ["acme:net/fetch@1.0.0", "wasi:http/incoming-handler@0.2.0", "wasi:http/types@0.3.0", "plain"] {
            let wasm = wat::parse_str(format!(r#"(component (import "{import}" (instance)))"#)).unwrap();
            let error = Inspection::of(&wasm).unwrap_err();
            assert_eq!(error, InspectError::MissingGrant { import: import.to_owned() });
        }
    }

    #[test]
    fn a_function_that_would_keep_the_compiler_busy_is_refused() {
        let body = "nop ".repeat(LARGEST_FUNCTION + 1);
        let wasm = wat::parse_str(format!("(component (core module (func {body})))")).unwrap();
        assert!(matches!(Inspection::of(&wasm), Err(InspectError::LargeFunction { .. })));
    }
}
