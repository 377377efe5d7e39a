//! One thing done to many runs, on all processors.

use rayon::prelude::*;

/// Applies `f` to each item, on as many threads as there are processors; the
/// results are in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    items.par_iter().map(&f).collect()
}

/// One thing done to many runs that may fail; of several errors the first.
pub(crate) fn try_each<T: Sync, R: Send, E: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    each(items, f).into_iter().collect()
}
