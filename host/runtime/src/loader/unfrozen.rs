//! Policies without a snapshot: for tools that configure one module in many ways.

use std::sync::Arc;
use std::time::Instant;

use portcullis_model::json::Value;
use portcullis_model::{CapabilityGrants, Pack};

use super::job::{Job, Key, digest};
use super::{LoadError, Loaded, Loader, Parts};
use crate::access::Access;
use crate::budget::Budget;
use crate::inspect::Inspection;
use crate::step::Timings;
use crate::template::Configuration;

impl Loader {
    /// Loads a policy that configures each of its instances anew. A module is compiled once, whatever it is configured with,
    /// where [`Loader::load`] compiles a snapshot of each configuration. Blocks like it. Whatever it may import is granted in
    /// name only: no request of it is sent.
    pub fn load_unfrozen(
        &self,
        wasm: &[u8],
        settings: &Value,
        packs: &[Pack],
        budget: &Budget,
    ) -> Result<Loaded, LoadError> {
        let started = Instant::now();
        let inspection = Arc::new(Inspection::of(wasm)?);
        let access = Access::granted(&inspection, &CapabilityGrants::in_name_only())?;
        let configuration = Arc::new(Configuration { settings: settings.clone(), packs: packs.to_vec() });
        let digest = digest(inspection.digest, &configuration);
        let key = Key::of_unfrozen(&self.engine, inspection.digest);
        let finding = Instant::now();
        let known = match self.live(key) {
            Some(prepared) => Some(prepared),
            None => self.kept(key, &inspection)?.map(|prepared| self.remember(key, prepared)),
        };
        let (prepared, cached) = if let Some(prepared) = known {
            (prepared, true)
        } else {
            let job = Job {
                engine: self.engine.clone(),
                cache: self.cache.clone(),
                wasm: wasm.to_vec(),
                inspection: Arc::clone(&inspection),
                configuration: Arc::clone(&configuration),
                digest,
                budget: *budget,
            };
            let (key, prepared) = self.thread.run(move || job.run_unfrozen())??;
            (self.remember(key, prepared), false)
        };
        let timings = Timings { compile: finding.elapsed(), ..Timings::default() };
        self.finish(Parts { prepared, cached, inspection, configuration, access, digest, started, timings }, budget)
    }
}
