//! Servers side by side, against hand-made examples and a second program that keeps one list.

use super::super::*;
use super::bench::{Bench, MICRO, asynchronous};
use crate::picos::Picos;
use quintet_contract::Random;

fn of(work: u64, message: Message) -> Message {
    Message { work: Picos(work * MICRO), ..message }
}

#[test]
fn a_free_server_takes_what_came_first_of_what_it_may_take() {
    let mut bench = Bench::new(Pool::new(PoolParameters { servers: 2 }).expect("two servers"), 1);
    // Station 2 stands for any. Both are busy until 10 and 20; then 3 is for the second, 4 for any, 5 for the first.
    for (ticket, to, work) in [(1, 2, 10), (2, 2, 20), (3, 1, 5), (4, 2, 7), (5, 0, 1)] {
        bench.request(Picos(ticket), of(work, asynchronous(ticket, 0, to, 1)));
    }
    bench.drain();
    let ends = [1, 2, 3, 4, 5].map(|ticket| bench.delivered(ticket).0 / MICRO);
    assert_eq!(ends, [10, 20, 25, 17, 18]);
    let statistics = bench.statistics();
    assert_eq!((statistics.carriers, statistics.delivered, statistics.bytes), (2, 5, 5));
    assert_eq!(statistics.busy / u128::from(MICRO), 43);
}

/// The same, told by one list that is searched from its beginning each time.
fn ends_of(servers: usize, requests: &[(u64, Message)]) -> Vec<u64> {
    let mut free_at = vec![0; servers];
    let mut ends = vec![0; requests.len()];
    let mut waiting: Vec<usize> = (0..requests.len()).collect();
    while !waiting.is_empty() {
        // Which begins first, of all that could be the next of a server: the earliest, then the one that came first.
        let begins = |index: usize, server: usize| {
            let (at, message) = requests[index];
            let to = message.to.index();
            (to == server || to == servers).then(|| free_at[server].max(at))
        };
        let all = waiting.iter().flat_map(|&index| (0..servers).map(move |server| (index, server)));
        let first = all.filter_map(|(index, server)| Some((begins(index, server)?, index, server))).min();
        let (begins, index, server) = first.expect("each has a server");
        free_at[server] = begins + requests[index].1.work.0;
        ends[index] = free_at[server];
        waiting.retain(|other| *other != index);
    }
    ends
}

#[test]
fn uses_end_when_a_search_through_one_list_says() {
    let random = &mut Random::new(4, 0);
    for case in 0..60 {
        let servers = 1 + random.below(4) as u16;
        let mut now = 0;
        let requests: Vec<(u64, Message)> = (0..80)
            .map(|ticket| {
                // No two things happen at one instant, so that no order has to be agreed on.
                now += 1 + random.below(20 * MICRO);
                let to = random.below(u64::from(servers) + 1) as u16;
                let message = asynchronous(ticket, 0, to, 0);
                (now, Message { work: Picos(random.below(60 * MICRO)), ..message })
            })
            .collect();
        let mut bench = Bench::new(Pool::new(PoolParameters { servers }).expect("servers"), 1);
        requests.iter().for_each(|(at, message)| bench.request(Picos(*at), *message));
        bench.drain();
        let found: Vec<u64> = (0..80).map(|ticket| bench.delivered(ticket).0).collect();
        assert_eq!(found, ends_of(usize::from(servers), &requests), "case {case}, {servers} servers");
    }
}

#[test]
fn a_pool_that_cannot_be_is_refused() {
    assert_eq!(PoolParameters { servers: 0 }.check(), Err(DeviceError::NoStations));
    assert_eq!(
        PoolParameters { servers: u16::MAX }.check(),
        Err(DeviceError::TooManyStations { found: 65_536 })
    );
}
