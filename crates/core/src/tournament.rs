//! The least of many values, and the first that is small enough, without a look at
//! all of them.

/// A tournament of values by place: the least of hundreds is known at once, and a
/// change costs the logarithm of their number.
pub struct Tournament<T> {
    /// The least of each pair, the least of all at 1, the values themselves from
    /// the middle on.
    tree: Vec<T>,
}

impl<T: Copy + Ord> Tournament<T> {
    /// So many places at least, at all of them `none`, which is above every value.
    pub fn new(places: usize, none: T) -> Self {
        Tournament::of(std::iter::empty(), places, none)
    }

    /// These values at the first places, of so many at least.
    pub fn of(values: impl Iterator<Item = T>, places: usize, none: T) -> Self {
        let leaves = places.next_power_of_two();
        let mut tree = vec![none; 2 * leaves];
        for (place, value) in tree[leaves..].iter_mut().zip(values) {
            *place = value;
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        Tournament { tree }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.tree.len() / 2
    }

    /// The values of all places.
    pub fn values(&self) -> &[T] {
        &self.tree[self.places()..]
    }

    /// Sets the value at a place.
    #[inline]
    pub fn set(&mut self, place: usize, value: T) {
        let mut node = self.places() + place;
        self.tree[node] = value;
        while node > 1 {
            let least = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            if self.tree[node] == least {
                break;
            }
            self.tree[node] = least;
        }
    }

    /// The least value of all.
    #[inline]
    pub fn least(&self) -> T {
        self.tree[1]
    }

    /// The least value of the first `count` places; `none` of no place.
    pub fn least_of_first(&self, count: usize, none: T) -> T {
        if count >= self.places() {
            return self.least();
        }
        // From the right end upwards: on each level an odd end closes with a
        // node of its own, everything left of it is taken on a level above.
        let mut right = self.places() + count;
        let mut least = none;
        while right > 1 {
            if right & 1 == 1 {
                least = least.min(self.tree[right - 1]);
            }
            right /= 2;
        }
        least
    }

    /// The first place, from `from` on, whose value is at most this.
    #[inline]
    pub fn first(&self, from: usize, most: T) -> Option<usize> {
        let leaves = self.places();
        if self.least() > most || from >= leaves {
            return None;
        }
        let mut node = leaves + from;
        while self.tree[node] > most {
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
            node += usize::from(self.tree[node] > most);
        }
        Some(node - leaves)
    }
}

/// One place without a value.
impl Default for Tournament<u64> {
    fn default() -> Self {
        Tournament::new(1, u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tournament_finds_what_a_walk_finds() {
        for places in 1..=9 {
            let mut tournament = Tournament::new(places, u64::MAX);
            let mut list = vec![u64::MAX; places];
            for step in 0..300 {
                let value = match step * step * 5 % 13 {
                    0 => u64::MAX,
                    value => value,
                };
                let place = step as usize * 7 % places;
                tournament.set(place, value);
                list[place] = value;
                assert_eq!(Some(tournament.least()), list.iter().min().copied());
                let again = Tournament::of(list.iter().copied(), places, u64::MAX);
                assert_eq!(again.tree[1..], tournament.tree[1..]);
                for from in 0..=places {
                    let most = step % 14;
                    let walked = (from..places).find(|&place| list[place] <= most);
                    assert_eq!(tournament.first(from, most), walked);
                    let first = list[..from].iter().min().copied();
                    let found = tournament.least_of_first(from, u64::MAX);
                    assert_eq!(found, first.unwrap_or(u64::MAX));
                }
            }
        }
    }
}
