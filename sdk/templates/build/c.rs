//! Bindings for C: generated for every gate, with the code of each gate under a macro of its own.
//!
//! The generator binds a whole world. A policy has some of the gates only, and what it lacks must be in its module neither as an
//! export nor as a function that is missing. So the parts of each gate stand between `#ifdef GUEST_…_GATE` and `#endif`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::Resolve;

/// The gates, as the contract names them.
const GATES: [&str; 6] = ["config", "environment", "listing", "call", "result", "request"];

/// Begins the part of one interface among what is freed after a call.
const FREED: &str = "// Exported Functions from `portcullis:policy/";

/// Begins the function by which the host enters.
const ENTERED: &str = "__attribute__((__export_name__(\"portcullis:policy/";

/// Ends each kind of part.
const ENDS: [&str; 3] =
    ["// Canonical ABI intrinsics", "__attribute__((__weak__, __export_name__(\"cabi_realloc", "// Helper Functions"];

/// Begins what links the object file of the world: the program writes the world into the module itself.
const LINKING: &str = "// Ensure that the *_component_type.o object is linked in";

/// Generates `guest.h` and `guest.c` into a folder, and returns their names with their places.
pub(crate) fn generate(contract: &Path, output: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let bindings = bindings(contract).map_err(|error| io::Error::other(format!("bindings for C: {error:#}")))?;
    let mut written = Vec::new();
    for (name, bytes) in bindings.iter().filter(|(name, _)| ["guest.h", "guest.c"].contains(name)) {
        let mut text = String::from_utf8(bytes.to_vec()).map_err(io::Error::other)?;
        if name == "guest.c" {
            text = by_gate(&text)?;
        }
        let path = output.join(name);
        fs::write(&path, text)?;
        written.push((name.to_owned(), path));
    }
    Ok(written)
}

fn bindings(contract: &Path) -> Result<Files, Box<dyn std::error::Error + Send + Sync>> {
    let mut resolve = Resolve::default();
    resolve.push_path(contract)?;
    let gates: Vec<_> = GATES.iter().map(|gate| format!("export portcullis:policy/{gate}-gate@0.1.0;")).collect();
    let gates = gates.concat();
    let world = format!(
        "package portcullis:guest; world guest {{ import portcullis:policy/log@0.1.0; export portcullis:policy/lifecycle@0.1.0; {gates} }}"
    );
    let package = resolve.push_str("guest.wit", &world)?;
    let world = resolve.select_world(&[package], Some("guest"))?;
    let mut files = Files::default();
    wit_bindgen_c::Opts { no_object_file: true, ..Default::default() }.build().generate(
        &mut resolve,
        world,
        &mut files,
    )?;
    Ok(files)
}

/// Puts the parts of each gate under its macro.
fn by_gate(source: &str) -> io::Result<String> {
    let mut text = String::new();
    let (mut open, mut parts) = (false, 0);
    for line in source.lines() {
        let begun = [FREED, ENTERED].iter().find_map(|start| line.strip_prefix(start));
        let linking = line.contains("__component_type_object_force_link");
        if open
            && (begun.is_some()
                || linking
                || line.starts_with("// Ensure")
                || ENDS.iter().any(|end| line.starts_with(end)))
        {
            text.push_str("#endif\n");
            open = false;
        }
        if line == LINKING || linking {
            break;
        }
        if let Some((gate, _)) = begun.and_then(|rest| rest.split_once("-gate@")) {
            let _infallible = writeln!(text, "#ifdef GUEST_{}_GATE", gate.to_ascii_uppercase());
            (open, parts) = (true, parts + 1);
        }
        text.push_str(line);
        text.push('\n');
    }
    if open {
        text.push_str("#endif\n");
    }
    // What the generator writes may change with its version: then this has to be looked at again.
    if parts == 2 * GATES.len() && !text.contains("force_link") {
        Ok(text)
    } else {
        Err(io::Error::other("the generated bindings for C have another form"))
    }
}
