//! An operation as a future.

use super::{Outcome, Pending};
use crate::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The task to wake: the one that polled last.
pub(super) type Task = Arc<Mutex<Waker>>;

fn lock(task: &Task) -> MutexGuard<'_, Waker> {
    task.lock().unwrap_or_else(PoisonError::into_inner)
}

/// It ends with what [`Pending::finish`] gives; dropped, it is cancelled. Its task is woken as [`Pending::notify`] calls: by a
/// thread that waits for an operation of this connection, or by [`Watch::progress`](crate::Watch::progress), which the
/// program's event loop calls. It panics if it is polled after its end.
///
/// ```
/// use quintet::{Error, Space, template, tuple};
///
/// async fn one_row(space: &Space) -> Result<(), Error> {
///     let row = space.begin().take(&template!["row", ?i64])?.await?;
///     println!("{row:?}");
///     Ok(())
/// }
/// ```
impl Future for Pending {
    type Output = Result<Outcome, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.is_finished(), "an operation was polled after its end");
        // Before the look: an answer that comes after it wakes the task that polls now.
        if let Some(task) = &self.task {
            lock(task).clone_from(context.waker());
        }
        if let Some(outcome) = self.wait(Duration::ZERO) {
            return Poll::Ready(outcome);
        }
        if self.task.is_none() {
            let task = Arc::new(Mutex::new(context.waker().clone()));
            self.task = Some(Arc::clone(&task));
            self.notify(Box::new(move || {
                let waker = lock(&task).clone();
                waker.wake();
            }));
        }
        Poll::Pending
    }
}
