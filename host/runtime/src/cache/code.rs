//! Native code whose origin was verified.

use wasmtime::component::Component;

/// Native code that came out of an entry whose HMAC was verified. Only [`super::Entry::open`] makes one.
pub(crate) struct Code {
    bytes: Vec<u8>,
    start: usize,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Code").field("bytes", &(self.bytes.len() - self.start)).finish()
    }
}

impl Code {
    pub(super) fn verified(bytes: Vec<u8>, start: usize) -> Self {
        Self { bytes, start }
    }

    /// Makes a component of it. Nothing where the engine does not take it, which it checks by its own header.
    pub(crate) fn component(&self, engine: &wasmtime::Engine) -> Option<Component> {
        let code = self.bytes.get(self.start..)?;
        #[expect(unsafe_code, reason = "native code cannot be checked, only its origin can")]
        // SAFETY: the engine demands bytes that `Component::serialize` returned. These are such bytes: the only
        // constructor of `Code` is called after their HMAC was verified with a key that this installation alone can
        // read, over bytes that are in our own memory by then, and the only writer of such HMACs, `Cache::put`, is
        // given what `Component::serialize` returned. The key of the entry binds them to the module, the settings,
        // the packs and the compatibility hash of the engine.
        let component = unsafe { Component::deserialize(engine, code) };
        component.inspect_err(|error| tracing::warn!(%error, "kept code is of another engine")).ok()
    }
}
