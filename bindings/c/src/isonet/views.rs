//! The present view, and who was lost with a view or has come back, for a program that asks.

use super::{Member, quintet_isonet};
use crate::boundary::{guarded, misuse, place, value};
use crate::error::quintet_status;
use core::mem::MaybeUninit;
use core::ptr::null;
use quintet::{Error, LossCause, Lost, PresentView};
use quintet_loss_cause::{QUINTET_LOSS_GONE, QUINTET_LOSS_MISBEHAVED, QUINTET_LOSS_MISSED_ELSEWHERE};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// For what a member was lost, as far as it is known here.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_loss_cause {
    /// Others miss it, and this member did not.
    QUINTET_LOSS_MISSED_ELSEWHERE = 0,
    /// It has ended, or cannot be reached from here.
    QUINTET_LOSS_GONE = 1,
    /// It broke the protocol, and was cut off here.
    QUINTET_LOSS_MISBEHAVED = 2,
}

/// A member that was lost to its isonet.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct quintet_lost {
    /// Which.
    pub member: u16,
    /// For what.
    pub cause: quintet_loss_cause,
}

impl From<&Lost> for quintet_lost {
    fn from(lost: &Lost) -> quintet_lost {
        let cause = match lost.cause {
            LossCause::Gone => QUINTET_LOSS_GONE,
            LossCause::Misbehaved => QUINTET_LOSS_MISBEHAVED,
            _ => QUINTET_LOSS_MISSED_ELSEWHERE,
        };
        quintet_lost { member: lost.member, cause }
    }
}

/// What was new in each view so far, by its number: a program may look at it until the isonet is freed.
#[derive(Default)]
pub(super) struct News(Mutex<BTreeMap<u32, Arc<New>>>);

/// What is new in a view.
struct New {
    lost: Vec<quintet_lost>,
    back: Vec<u16>,
}

impl News {
    /// What was noted before is lent, and stays.
    pub(super) fn note(&self, view: &PresentView) {
        let new =
            || Arc::new(New { lost: view.lost.iter().map(Into::into).collect(), back: view.back.clone() });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(view.view.0).or_insert_with(new);
    }

    /// # Errors
    /// `BadValue`: this member has seen no such view.
    fn of(&self, view: u32) -> Result<Arc<New>, Error> {
        let news = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        news.get(&view).cloned().ok_or_else(|| {
            misuse(format!("this member has seen no view {view} begin: some numbers are left out"))
        })
    }
}

impl Member {
    /// # Errors
    /// As `joined`; `BadValue`: this member has seen no such view.
    fn news(&self, view: u32) -> Result<Arc<New>, Error> {
        self.joined()?;
        self.views.of(view)
    }
}

/// The present view: its number, from 1, and the numbers of its members, ascending, which are lent until this is asked again or the isonet is freed. One thread at a time asks.
/// `number` may be NULL.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_view(
    isonet: Option<&quintet_isonet>,
    number: Option<&mut MaybeUninit<u32>>,
    members: Option<&mut MaybeUninit<*const u16>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let (members, count) = (place(members, "members", null())?, place(count, "count", 0)?);
        let member = value(isonet)?;
        let view = member.joined()?.view();
        member.views.note(&view);
        if let Some(number) = number {
            number.write(view.view.0);
        }
        let mut viewed = member.viewed.lock().unwrap_or_else(PoisonError::into_inner);
        *viewed = view.members;
        (*members, *count) = (viewed.as_ptr(), viewed.len());
        Ok(())
    })
}

/// Who was lost with the view of this number, that `quintet_isonet_view` has given, or `quintet_isonet_place` of a `QUINTET_ISONET_VIEW`: members of the view before that are not in it,
/// or not as the process that they were then, ascending, and for what each. They are lent until the isonet is freed.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined, and for a view that this member has not seen.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_lost(
    isonet: Option<&quintet_isonet>,
    view: u32,
    lost: Option<&mut MaybeUninit<*const quintet_lost>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let (lost, count) = (place(lost, "lost", null())?, place(count, "count", 0)?);
        let new = value(isonet)?.news(view)?;
        (*lost, *count) = (new.lost.as_ptr(), new.lost.len());
        Ok(())
    })
}

/// Who has come back with the view of this number, that `quintet_isonet_view` has given, or `quintet_isonet_place` of a `QUINTET_ISONET_VIEW`: members of it, ascending. They are lent until
/// the isonet is freed.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined, and for a view that this member has not seen.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_back(
    isonet: Option<&quintet_isonet>,
    view: u32,
    members: Option<&mut MaybeUninit<*const u16>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let (members, count) = (place(members, "members", null())?, place(count, "count", 0)?);
        let new = value(isonet)?.news(view)?;
        (*members, *count) = (new.back.as_ptr(), new.back.len());
        Ok(())
    })
}
