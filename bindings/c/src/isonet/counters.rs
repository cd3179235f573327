//! What a member has counted, and how others keep up, for a program that asks.

use super::quintet_isonet;
use crate::boundary::{guarded, place, value};
use crate::error::quintet_status;
use crate::inspecting::QUINTET_NEVER;
use core::mem::MaybeUninit;
use core::ptr::null;
use quintet::PeerCounters;
use quintet::isotach::{Counters, IntervalClass};
use std::sync::PoisonError;
use std::time::Duration;

/// What a member of an isonet has counted since it has joined.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_counters {
    /// Isochrons that its program has begun, and that were taken.
    pub begun: u64,
    /// Of these, those that all their receivers have executed.
    pub executed: u64,
    /// Of these, those that were not executed as far as it is known here, as a view or this member has ended.
    pub lost: u64,
    /// Of these, those of this member alone: no other one heard of them.
    pub local: u64,
    /// Operations of those that were begun.
    pub operations: u64,
    /// Isochrons of its program that were not taken: with what cannot be, or one too many.
    pub refused: u64,
    /// Parts of isochrons, its own as well, that this member has executed.
    pub parts: u64,
    /// Parts of others whose pulse was over when they came: they waited for nothing but what is before them.
    pub parts_at_once: u64,
    /// Parts of others that waited for the end of their pulse.
    pub parts_waited: u64,
    /// Frames of another view that were not taken.
    pub fenced: u64,
    /// Isochrons that got their place here: of the member that keeps the pulse, all that are not one member's alone. So are those that follow.
    pub stamped: u64,
    /// Pulses that have ended here.
    pub pulses: u64,
    /// Tokens to other switches: none where there is one.
    pub tokens: u64,
    /// Markers: isochrons that members were told to execute, once for each member.
    pub markers: u64,
    /// Frames in which they went.
    pub marker_frames: u64,
    /// Pulses that have ended behind another one of their view: the times that follow are from the one before to each of them, rest included, in nanoseconds, and 0 where there were none.
    pub pulse_intervals: u64,
    /// The shortest.
    pub pulse_interval_shortest_ns: u64,
    /// So long were half of them at most; an eighth too long, or less.
    pub pulse_interval_median_ns: u64,
    /// So long were 99 of 100 at most, likewise.
    pub pulse_interval_p99_ns: u64,
    /// The longest.
    pub pulse_interval_longest_ns: u64,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 12],
}

/// Lengths of time between two bounds, and how many there were.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_interval_class {
    /// None is shorter, in nanoseconds.
    pub from_ns: u64,
    /// None is longer: an eighth more, or less.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
}

/// How another member of the view keeps up, as this one sees it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_peer_counters {
    /// Which.
    pub member: u16,
    /// Whether anything waits for it here.
    pub is_awaited: bool,
    /// Whether something waits here for room at it, or on the way.
    pub is_full: bool,
    /// How long nothing was heard of it, not even a sign of life, for which it is asked four times in a silence limit, in milliseconds; `QUINTET_NEVER` if its link is cut.
    pub unheard_ms: i64,
    /// Isochrons and plain messages of this member that it has not answered. Of an isochron nobody answers before all receivers have their parts.
    pub unanswered: u64,
    /// For how long the first of them has waited, in milliseconds.
    pub unanswered_ms: i64,
    /// Isochrons of all members that get no place before it says that it has its part: of the member that keeps the pulse, 0 at the others.
    pub unreceived: u64,
    /// How often something had to wait for room, since it was linked.
    pub full: u64,
    /// For how long, all together, in milliseconds.
    pub full_ms: i64,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 4],
}

impl From<&PeerCounters> for quintet_peer_counters {
    fn from(peer: &PeerCounters) -> quintet_peer_counters {
        quintet_peer_counters {
            member: peer.member,
            is_awaited: peer.is_awaited(),
            is_full: peer.is_full,
            unheard_ms: peer.unheard.map_or(QUINTET_NEVER, ms),
            unanswered: peer.unanswered,
            unanswered_ms: ms(peer.unanswered_for),
            unreceived: peer.unreceived,
            full: peer.full,
            full_ms: ms(peer.full_for),
            reserved: [0; 4],
        }
    }
}

fn ms(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}

impl From<IntervalClass> for quintet_interval_class {
    fn from(class: IntervalClass) -> quintet_interval_class {
        quintet_interval_class { from_ns: ns(class.from), to_ns: ns(class.to), count: class.count }
    }
}

fn ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

impl From<&Counters> for quintet_counters {
    fn from(counted: &Counters) -> quintet_counters {
        let intervals = &counted.pulse_intervals;
        quintet_counters {
            begun: counted.begun,
            executed: counted.executed,
            lost: counted.lost,
            local: counted.local,
            operations: counted.operations,
            refused: counted.refused,
            parts: counted.parts,
            parts_at_once: counted.parts_at_once,
            parts_waited: counted.parts_waited,
            fenced: counted.fenced,
            stamped: counted.stamped,
            pulses: counted.pulses,
            tokens: counted.tokens,
            markers: counted.markers,
            marker_frames: counted.marker_frames,
            pulse_intervals: intervals.count(),
            pulse_interval_shortest_ns: ns(intervals.shortest()),
            pulse_interval_median_ns: ns(intervals.median()),
            pulse_interval_p99_ns: ns(intervals.quantile(0.99)),
            pulse_interval_longest_ns: ns(intervals.longest()),
            reserved: [0; 12],
        }
    }
}

/// What this member has counted since it has joined; once it has ended, until then: see `quintet_counters`.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_counters(
    isonet: Option<&quintet_isonet>,
    counters: Option<&mut MaybeUninit<quintet_counters>>,
) -> quintet_status {
    guarded(|| {
        let counters = place(counters, "counters", quintet_counters::default())?;
        *counters = (&value(isonet)?.joined()?.counters()?).into();
        Ok(())
    })
}

/// How far apart the pulses were of which `quintet_counters` has the number, as a histogram: the classes that are not empty, the shorter ones first, which are lent until this is asked again or the isonet is
/// freed. One thread at a time asks.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_pulse_intervals(
    isonet: Option<&quintet_isonet>,
    classes: Option<&mut MaybeUninit<*const quintet_interval_class>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let (classes, count) = (place(classes, "classes", null())?, place(count, "count", 0)?);
        let member = value(isonet)?;
        let counted = member.joined()?.counters()?;
        let mut intervals = member.intervals.lock().unwrap_or_else(PoisonError::into_inner);
        *intervals = counted.pulse_intervals.classes().map(Into::into).collect();
        (*classes, *count) = (intervals.as_ptr(), intervals.len());
        Ok(())
    })
}

/// How each other member of the view keeps up: whom this member waits for comes first, of several the one of which nothing was heard for longest. So one that stands still, or whose program takes nothing,
/// is named before it is lost. None once this member has ended. They are lent until this is asked again or the isonet is freed; one thread at a time asks.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined, `QUINTET_TIMED_OUT` while this member itself stands still, as its program takes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_peers(
    isonet: Option<&quintet_isonet>,
    peers: Option<&mut MaybeUninit<*const quintet_peer_counters>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let (peers, count) = (place(peers, "peers", null())?, place(count, "count", 0)?);
        let member = value(isonet)?;
        let seen = member.joined()?.peers()?;
        let mut lent = member.peers.lock().unwrap_or_else(PoisonError::into_inner);
        *lent = seen.iter().map(Into::into).collect();
        (*peers, *count) = (lent.as_ptr(), lent.len());
        Ok(())
    })
}
