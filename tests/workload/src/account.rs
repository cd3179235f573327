//! Whether every item is where it can be.

use crate::worker::Told;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Default, Debug)]
struct Item {
    begun: bool,
    is_durable: bool,
    finish_begun: bool,
    taken: u32,
    finished: u32,
    left: u32,
    done_left: u32,
}

/// Whether what workers were told, and what is left in the space, fits. Beside those that workers know of, so many takes may have taken something without anybody
/// being told.
///
/// # Errors
/// Which item is lost, or found twice.
pub fn account<'a>(
    told: impl IntoIterator<Item = &'a Told>,
    left: &[(String, i64)],
    mut lost_takes: u32,
) -> Result<(), String> {
    let mut items: BTreeMap<i64, Item> = BTreeMap::new();
    for told in told {
        match *told {
            Told::Begun(item) => items.entry(item).or_default().begun = true,
            Told::Put(item) | Told::Read(item) => items.entry(item).or_default().is_durable = true,
            Told::Taken(item) => {
                let item = items.entry(item).or_default();
                (item.is_durable, item.taken) = (true, item.taken + 1);
            }
            Told::FinishBegun(item) => {
                let item = items.entry(item).or_default();
                (item.is_durable, item.finish_begun) = (true, true);
            }
            Told::Finished(item) => items.entry(item).or_default().finished += 1,
            Told::TakeLost => lost_takes += 1,
        }
    }
    for (name, item) in left {
        let item = items.entry(*item).or_default();
        *(if name == "done" { &mut item.done_left } else { &mut item.left }) += 1;
    }
    let mut missing = 0;
    for (number, item) in &items {
        let found = item.taken + item.left + item.done_left;
        let is_wrong = !item.begun
            || found > 1
            || item.finished > 1
            || (item.finished == 1 && item.done_left != 1)
            || (item.done_left == 1 && !item.finish_begun);
        if is_wrong {
            return Err(format!("item {number} is found {found} times: {item:?}"));
        }
        missing += u32::from(item.is_durable && found == 0);
    }
    match missing > lost_takes {
        true => Err(format!("{missing} items are missing, and {lost_takes} takes may have them")),
        false => Ok(()),
    }
}
