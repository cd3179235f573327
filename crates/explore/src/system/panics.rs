//! Panics as findings: what they say is kept in place of being printed, since a search for a smaller schedule meets them a thousand times.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// While this thread catches panics: what the last one said.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What `run` gives, or what its panic said and where that was.
///
/// # Errors
/// It panicked.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_ours = CAUGHT.with_borrow_mut(|caught| caught.as_mut().map(|text| *text = said(info)));
            if is_ours.is_none() {
                usual(info);
            }
        }));
    });
    let before = CAUGHT.replace(Some(String::new()));
    // What it leaves behind is dropped with the run.
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    let text = CAUGHT.replace(before).unwrap_or_default();
    outcome.map_err(|_| text)
}

fn said(info: &panic::PanicHookInfo<'_>) -> String {
    let text = info.payload_as_str().unwrap_or("a panic that says nothing");
    info.location().map_or_else(|| text.to_owned(), |place| format!("{text} ({place})"))
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn what_a_panic_says_is_kept_with_its_place() {
        assert_eq!(caught(|| 5), Ok(5));
        let text = caught(|| panic!("no {}", 7)).expect_err("it panics");
        assert!(text.starts_with("no 7 (") && text.contains("panics.rs:"), "{text}");
        // One within another: the outer goes on.
        let both = caught(|| (caught(|| panic!("inner")).is_err(), caught(|| 1)));
        assert_eq!(both, Ok((true, Ok(1))));
    }
}
