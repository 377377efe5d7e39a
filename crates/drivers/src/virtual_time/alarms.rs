//! When each of many machines has something to do.

use gridrig_core::time::SimTime;

/// The alarms of machines by their number, [`SimTime::MAX`] for never: a
/// tournament, so that the earliest of hundreds is known at once and a change
/// costs the logarithm of their number.
pub(super) struct Alarms {
    /// The earliest of each pair, the earliest of all at 1, those of the
    /// machines from the middle on.
    tree: Vec<SimTime>,
}

impl Alarms {
    /// No machine has anything to do.
    pub fn new(machines: usize) -> Self {
        let leaves = machines.next_power_of_two();
        Alarms {
            tree: vec![SimTime::MAX; 2 * leaves],
        }
    }

    /// Sets the alarm of a machine.
    pub fn set(&mut self, machine: usize, at: SimTime) {
        let mut node = self.tree.len() / 2 + machine;
        self.tree[node] = at;
        while node > 1 {
            let earlier = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            if self.tree[node] == earlier {
                break;
            }
            self.tree[node] = earlier;
        }
    }

    /// The earliest alarm of all.
    pub fn earliest(&self) -> SimTime {
        self.tree[1]
    }

    /// The first machine, from number `from` on, whose alarm is due.
    pub fn due(&self, from: usize, now: SimTime) -> Option<usize> {
        let leaves = self.tree.len() / 2;
        if self.earliest() > now || from >= leaves {
            return None;
        }
        let mut node = leaves + from;
        while self.tree[node] > now {
            // On to the tree on the right, which may hang from a higher node.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < leaves {
            node *= 2;
            node += usize::from(self.tree[node] > now);
        }
        Some(node - leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tournament_finds_what_a_walk_finds() {
        for machines in 1..=9 {
            let mut alarms = Alarms::new(machines);
            let mut list = vec![SimTime::MAX; machines];
            for step in 0..300 {
                let at = match step * step * 5 % 13 {
                    0 => SimTime::MAX,
                    seconds => SimTime::from_secs(seconds),
                };
                let machine = step as usize * 7 % machines;
                alarms.set(machine, at);
                list[machine] = at;
                assert_eq!(Some(alarms.earliest()), list.iter().min().copied());
                for from in 0..=machines {
                    let now = SimTime::from_secs(step % 14);
                    let walked = (from..machines).find(|&machine| list[machine] <= now);
                    assert_eq!(alarms.due(from, now), walked);
                }
            }
        }
    }
}
