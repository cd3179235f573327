//! A question that is asked in a thread of its own: who wants the answer waits for it no longer than it likes.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// A question, asked again and again, and by one thread at a time.
pub(crate) struct Asking<T> {
    /// Where the answer comes to which nobody has waited.
    late: Option<Receiver<T>>,
}

impl<T: Send + 'static> Asking<T> {
    pub(crate) fn new() -> Asking<T> {
        Asking { late: None }
    }

    /// The answer, if it comes within that time. Where the last question has no answer so far, that is waited for, and `ask` is not called; an
    /// answer that came between two questions is old, and nobody gets it.
    pub(crate) fn within(&mut self, limit: Duration, ask: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let question = self.outstanding(ask);
        self.wait(question, limit)
    }

    /// Where the answer to the last question will come if it has none so far, else to this one, which is asked now.
    fn outstanding(&mut self, ask: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let has_ended = |late: &Receiver<T>| !matches!(late.try_recv(), Err(TryRecvError::Empty));
        self.late.take().filter(|late| !has_ended(late)).unwrap_or_else(|| {
            let (tell, answer) = channel();
            // Nobody listens any more if the command ends meanwhile.
            thread::spawn(move || drop(tell.send(ask())));
            answer
        })
    }

    /// What comes there within that time.
    fn wait(&mut self, question: Receiver<T>, limit: Duration) -> Option<T> {
        let answer = question.recv_timeout(limit).ok();
        self.late = answer.is_none().then_some(question);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn who_does_not_answer_keeps_nobody_waiting_and_is_asked_once() {
        let mut asking = Asking::new();
        let (answer, answers) = channel();
        assert_eq!(asking.within(SHORT, move || answers.recv().unwrap_or("nobody is left")), None);
        let second = || -> &str { unreachable!("the first has no answer so far") };
        assert_eq!(asking.within(SHORT, second), None);
        let question = asking.outstanding(second);
        answer.send("it came").unwrap();
        assert_eq!(asking.wait(question, LONG), Some("it came"), "whoever waits then gets it");
        assert_eq!(asking.within(LONG, || "anew"), Some("anew"));
    }

    #[test]
    fn an_answer_that_came_between_two_questions_is_old() {
        let mut asking = Asking::new();
        let (tell, answers) = channel();
        asking.late = Some(answers);
        tell.send("old").unwrap();
        assert_eq!(asking.within(LONG, || "new"), Some("new"));
    }
}
