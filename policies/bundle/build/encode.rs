//! From a core module to a component that imports nothing but what it should.

use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::WorldItem;

use crate::Failure;

/// The functions that every policy of the bundle may import.
const ALLOWED: &str = "portcullis:policy/log@";

/// Encodes a component, and refuses one that exports no gate or could do more than log and what it is known to need.
pub(crate) fn component(name: &str, module: &[u8], needed: &[&str]) -> Result<Vec<u8>, Failure> {
    let fail =
        |error: &dyn std::fmt::Display| Failure::new(format!("{name} does not encode as a component: {error:#}"));
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(module).map_err(|error| fail(&error))?;
    let component = encoder.encode().map_err(|error| fail(&error))?;
    let DecodedWasm::Component(resolve, world) = wit_component::decode(&component).map_err(|error| fail(&error))?
    else {
        return Err(fail(&"it decodes as a package"));
    };
    let world = resolve.worlds.get(world).ok_or_else(|| fail(&"it has no world"))?;
    let gates = world.exports.keys().filter(|key| resolve.name_world_key(key).contains("-gate@")).count();
    if gates == 0 {
        return Err(Failure::new(format!("{name} exports no gate: its crate lacks `portcullis_sdk::export!`")));
    }
    for (key, item) in &world.imports {
        let import = resolve.name_world_key(key);
        // An interface without functions is a name for types, and gives the component nothing to do.
        let functions = match item {
            WorldItem::Interface { id, .. } => resolve.interfaces.get(*id).map(|interface| interface.functions.len()),
            WorldItem::Type { .. } => Some(0),
            WorldItem::Function(_) => None,
        };
        let allowed = import.starts_with(ALLOWED) || needed.iter().any(|needed| import.starts_with(needed));
        if functions != Some(0) && !allowed {
            return Err(Failure::new(format!("{name} imports {import}, which it may not")));
        }
    }
    Ok(component)
}
