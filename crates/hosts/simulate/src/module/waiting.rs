//! What waits at a module: activations that are ready and have not begun.

use super::Module;
use crate::picos::Picos;
use quintet_contract::Frame;

impl Module {
    /// How long the activations that have not begun by `now` have waited in all since `since`, in seconds. `inputs` are the
    /// frames that it has not handled, each with when it came.
    ///
    /// A module that its times alone make ready can be behind by very many of them. Those that are not drawn so far count as
    /// if each came at its mean distance from the one before.
    pub(crate) fn waited<'a>(
        &self,
        inputs: impl Iterator<Item = (Frame<'a>, Picos)>,
        since: Picos,
        now: Picos,
    ) -> f64 {
        let mut module = self.clone();
        for (frame, came) in inputs {
            module.came = came;
            module.take(&frame);
            module.make_ready();
        }
        let others = !module.messages.is_empty() || !module.done.is_empty();
        while others && module.is_ready_by_its_time(now) {}
        let begun = usize::from(module.blocked.is_some());
        let known: f64 =
            module.ready.iter().skip(begun).map(|ready| (now - since.max(ready.at)).as_seconds()).sum();
        if others { known } else { known + module.overdue(now) - module.overdue(since) }
    }

    /// Whether its next time, if that has come, is the last condition of an activation.
    fn is_ready_by_its_time(&mut self, now: Picos) -> bool {
        let before = self.ready.len();
        self.came = now;
        self.tick(now.time());
        self.make_ready();
        self.ready.len() > before
    }

    /// How long the times from the next one on that have come by `now` have waited by then in all, in seconds.
    #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
    fn overdue(&self, now: Picos) -> f64 {
        let next = self.next.map(Picos::reaching).filter(|next| *next <= now);
        let Some((next, timing)) = next.zip(self.spec.timing.as_ref()) else { return 0.0 };
        let late = (now - next).as_seconds();
        let Some(every) = &timing.every else { return late };
        let left = timing.limit.saturating_sub(self.times) as f64;
        let count = (late / every.mean() + 1.0).floor().min(left);
        // Of an infinite mean there is one: the next after it comes never.
        let between = if count > 1.0 { every.mean() * count * (count - 1.0) / 2.0 } else { 0.0 };
        count * late - between
    }
}
