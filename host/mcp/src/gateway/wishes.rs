//! What is wanted of a server's keeper.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// The end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Which one it was.
    pub(crate) number: u64,
    /// How it ended, for the operator.
    pub(crate) detail: String,
    /// True where the server only forgot the session: another one can be had at once.
    pub(crate) expired: bool,
}

/// What is wanted at once. Wishes of a kind join while the keeper is busy, so a flood of them costs one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set of independent wishes")]
pub(crate) struct Wanted {
    /// List and scan the tools again.
    pub(crate) tools: bool,
    /// List and scan the prompts again.
    pub(crate) prompts: bool,
    /// List and scan the resources and templates again.
    pub(crate) resources: bool,
    /// Judge the entry and every item again: there is a new policy set.
    pub(crate) rejudge: bool,
    /// A call needs the server: start it, or try it again.
    pub(crate) wake: bool,
    /// A connection ended.
    pub(crate) closed: Option<Ended>,
    /// End the server for good.
    pub(crate) stop: bool,
}

impl Wanted {
    /// Returns true where anything is to be listed again.
    pub(crate) fn relist(&self) -> bool {
        self.tools || self.prompts || self.resources
    }

    /// Returns these wishes and others; of two ended connections, the one of these.
    pub(crate) fn join(&self, other: &Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
            rejudge: self.rejudge || other.rejudge,
            wake: self.wake || other.wake,
            closed: self.closed.clone().or_else(|| other.closed.clone()),
            stop: self.stop || other.stop,
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where wishes are left for a keeper.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    wanted: Mutex<Wanted>,
    woken: Notify,
}

impl Wishes {
    /// Adds a wish.
    pub(crate) fn add(&self, wish: impl FnOnce(&mut Wanted)) {
        wish(&mut self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        self.woken.notify_one();
    }

    /// Waits for wishes that fulfil `filter`, and takes all that there are. The others stay where none does.
    pub(crate) async fn take(&self, filter: impl Fn(&Wanted) -> bool) -> Wanted {
        loop {
            {
                let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
                if !wanted.is_empty() && filter(&wanted) {
                    return std::mem::take(&mut wanted);
                }
            }
            self.woken.notified().await;
        }
    }

    /// Waits for wishes that fulfil `filter`, and leaves them.
    pub(crate) async fn wait(&self, filter: impl Fn(&Wanted) -> bool) {
        loop {
            if filter(&self.wanted.lock().unwrap_or_else(PoisonError::into_inner)) {
                return;
            }
            self.woken.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wishes_join_until_they_are_taken() {
        let wishes = Wishes::default();
        wishes.add(|wanted| wanted.tools = true);
        wishes.add(|wanted| wanted.tools = true);
        wishes.add(|wanted| wanted.rejudge = true);
        let wanted = wishes.take(|_| true).await;
        assert_eq!(wanted, Wanted { tools: true, rejudge: true, ..Wanted::default() });
        assert!(tokio::time::timeout(std::time::Duration::from_millis(10), wishes.take(|_| true)).await.is_err());
    }

    #[tokio::test]
    async fn a_keeper_that_waits_for_one_wish_leaves_the_others() {
        let wishes = Wishes::default();
        wishes.add(|wanted| wanted.tools = true);
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(10), wishes.take(|wanted| wanted.stop));
        assert!(waiting.await.is_err());
        wishes.add(|wanted| wanted.stop = true);
        assert!(wishes.take(|wanted| wanted.stop).await.tools);
    }
}
