//! Which fleet serves which client.

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::{Launch, Principal};

use super::Gateway;
use super::capabilities::CapabilitySet;
use super::fleet::{Fleet, FleetKey};

/// So many fleets of one principal start processes, and so many processes of each stdio server run at once. Clients in use
/// declare two or three different sets.
const MOST_PROCESSES: usize = 4;

/// Where all servers are reached over HTTP, so many fleets of one principal run at once: each is one more session at every server
/// and holds its lists, some hundred kilobytes a server. All clients that are known together declare about ten sets.
const MOST_FLEETS: usize = 16;

/// A fleet that was unused for so long makes room where another one is needed.
const EVICTED_AFTER: Duration = Duration::from_mins(1);

/// So many sets without a fleet are told of: as many as there are for one principal.
const MOST_TOLD: usize = 128;

/// Unused fleets are looked for this often, or four times in the time that they may stay.
const LONGEST_ROUND: Duration = Duration::from_mins(1);

/// The fleets that run, in the order of their start.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    fleets: Vec<Arc<Fleet>>,
    /// How many there have been.
    count: u64,
    /// Sets without a fleet of their own that were told of.
    told: Vec<FleetKey>,
    /// The gateway has ended: nothing is started any more.
    closed: bool,
}

impl Gateway {
    /// Returns the fleet that serves clients of a principal that declared these capabilities (the object of `initialize`, or
    /// of a stateless request), and starts it where it is not there. Costs a look at four keys where it is.
    ///
    /// A fleet of its own has every different set, up to a bound that keeps a place for the empty set. Beyond it, the widest
    /// running fleet serves the client that asks nothing of it that it cannot do.
    pub(crate) fn fleet_for(self: &Arc<Self>, principal: &Principal, capabilities: &Value) -> Arc<Fleet> {
        let wanted = FleetKey { principal: principal.clone(), capabilities: CapabilitySet::read(capabilities) };
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fleet) = pool.fleets.iter().find(|fleet| fleet.key == wanted) {
            fleet.note_use();
            return Arc::clone(fleet);
        }
        let most = self.most_fleets();
        if pool.may_start(&wanted, most) || self.evict(&mut pool, &wanted, most) {
            return self.add_fleet(&mut pool, wanted);
        }
        let fitting = pool.fleets.iter().filter(|fleet| {
            fleet.key.principal == wanted.principal && wanted.capabilities.covers(fleet.key.capabilities)
        });
        let widest = fitting.max_by_key(|fleet| fleet.key.capabilities.count()).cloned();
        // There is always a place for the empty set, which everybody covers.
        let empty = FleetKey { capabilities: CapabilitySet::default(), ..wanted.clone() };
        let fleet = widest.unwrap_or_else(|| self.add_fleet(&mut pool, empty));
        fleet.note_use();
        // Once for each: in the stateless era every request comes here.
        if pool.told.len() < MOST_TOLD && !pool.told.contains(&wanted) {
            tracing::warn!(
                declared = %wanted.capabilities,
                served = %fleet.key.capabilities,
                most,
                "too many different sets of client capabilities: servers are told of fewer than the client declared"
            );
            pool.told.push(wanted);
        }
        fleet
    }

    /// Returns how many fleets of one principal may run.
    fn most_fleets(&self) -> usize {
        let arrangement = self.shared.arrangement.load();
        let starts = |server: &portcullis_config::Server| {
            server.options.enabled && matches!(server.entry.launch, Launch::Stdio { .. })
        };
        if arrangement.servers.iter().any(starts) { MOST_PROCESSES } else { MOST_FLEETS }
    }

    /// Makes room by ending a fleet that nobody has used for a while. Returns true where there is room now.
    fn evict(self: &Arc<Self>, pool: &mut Pool, wanted: &FleetKey, most: usize) -> bool {
        let unused = pool.fleets.iter().enumerate().skip(1).filter(|(_, fleet)| {
            fleet.key.principal == wanted.principal
                && fleet.key.capabilities != CapabilitySet::default()
                && fleet.unused_for() >= EVICTED_AFTER
        });
        let Some((position, _)) = unused.max_by_key(|(_, fleet)| fleet.unused_for()) else {
            return false;
        };
        self.retire(pool, position);
        pool.may_start(wanted, most)
    }

    fn add_fleet(self: &Arc<Self>, pool: &mut Pool, key: FleetKey) -> Arc<Fleet> {
        pool.count += 1;
        // A config that has processes may come later.
        let may_start =
            pool.fleets.iter().filter(|fleet| fleet.key.principal == key.principal).count() < MOST_PROCESSES;
        let fleet = Fleet::new(Arc::clone(&self.shared), key, pool.count, may_start);
        if pool.closed {
            fleet.stay_off();
            return fleet;
        }
        if pool.fleets.is_empty() {
            self.follow();
        } else {
            tracing::info!(
                fleet = fleet.number,
                principal = %fleet.key.principal,
                capabilities = %fleet.key.capabilities,
                "servers are started once more, for clients with other capabilities"
            );
        }
        pool.fleets.push(Arc::clone(&fleet));
        fleet.start();
        fleet
    }

    /// Takes a fleet out of the pool and stops it once its calls have ended.
    fn retire(self: &Arc<Self>, pool: &mut Pool, position: usize) {
        let fleet = pool.fleets.remove(position);
        tracing::info!(
            fleet = fleet.number,
            principal = %fleet.key.principal,
            capabilities = %fleet.key.capabilities,
            "servers that nobody uses any more are stopped"
        );
        let retiring = tokio::spawn(async move { fleet.retire().await });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retiring.retain(|task| !task.is_finished());
        tasks.retiring.push(retiring);
    }

    /// Ends fleets that nobody has used for as long as the options allow. The first one stays: whoever comes next finds it
    /// warm.
    fn retire_unused(self: &Arc<Self>) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.shared.options.fleet_idle;
        while let Some(position) =
            pool.fleets.iter().skip(1).position(|fleet| fleet.unused_for() >= limit).map(|position| position + 1)
        {
            self.retire(&mut pool, position);
        }
    }

    /// Returns the fleets that run, in the order of their start.
    pub(crate) fn fleets(&self) -> Vec<Arc<Fleet>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).fleets.clone()
    }

    /// Has no more fleets started, and returns those that run.
    pub(super) fn close_pool(&self) -> Vec<Arc<Fleet>> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.closed = true;
        pool.fleets.clone()
    }
}

impl Pool {
    /// Returns the fleets that run; none once the gateway has ended.
    pub(super) fn running(&self) -> &[Arc<Fleet>] {
        if self.closed { &[] } else { &self.fleets }
    }

    /// Returns true where a fleet of that key finds a place. The last one is kept for the empty set.
    fn may_start(&self, wanted: &FleetKey, most: usize) -> bool {
        let empty = CapabilitySet::default();
        let mine = || self.fleets.iter().filter(|fleet| fleet.key.principal == wanted.principal);
        let is_there = mine().any(|fleet| fleet.key.capabilities == empty);
        let kept = usize::from(!is_there && wanted.capabilities != empty);
        mine().count() + kept < most
    }
}

/// Looks for unused fleets until the gateway is gone.
pub(super) async fn watch_use(gateway: Weak<Gateway>) {
    let round = match gateway.upgrade() {
        Some(gateway) => (gateway.shared.options.fleet_idle / 4).clamp(Duration::from_millis(10), LONGEST_ROUND),
        None => return,
    };
    loop {
        tokio::time::sleep(round).await;
        match gateway.upgrade() {
            Some(gateway) => {
                gateway.sweep_tasks();
                gateway.retire_unused();
            }
            None => return,
        }
    }
}
