use super::*;

#[test]
fn gaps_that_no_float_tells_apart_are_ordered() {
    let third = Gap::between((0, 3), ((1 << 47) + 1, 3));
    let larger = Gap::between((0, 1), (1 << 47, 2));
    assert!(third.compare(&larger).is_lt());
    let a = Gap {
        whole: 1 << 60,
        remainder: 1,
        divisor: 3,
    };
    let b = Gap {
        whole: 1 << 60,
        remainder: 1,
        divisor: 2,
    };
    assert_eq!(a.as_f64(), b.as_f64());
    assert!(a.compare(&b).is_lt());
}

#[test]
fn a_cut_has_the_wanted_number_of_clusters() {
    let tree = average_linkage(&[100, 103, 200, 201, 500]).unwrap();
    assert_eq!(tree.cut(1).starts, [100]);
    assert_eq!(tree.cut(2).starts, [100, 500]);
    assert_eq!(tree.cut(3).starts, [100, 200, 500]);
    assert_eq!(tree.cut(99).starts, [100, 103, 200, 201, 500]);
    let cut = tree.cut(3);
    assert_eq!(
        [0, 103, 199, 200, 499, 900].map(|p| cut.label(p)),
        [0, 0, 0, 1, 1, 2]
    );
}

#[test]
fn sums_of_squares_are_exact_far_from_zero() {
    let far = MAX_SPAN - 3;
    let tree = average_linkage(&[0, far, far + 1, far + 2]).unwrap();
    // Two clusters: {0} and three points around their mean.
    assert_eq!(tree.wcss(30)[1..], [2.0, 0.5, 0.0]);
    let same = average_linkage(&[7; 5]).unwrap();
    assert_eq!((same.wcss(30), same.merges.len()), (vec![0.0], 0));
}

#[test]
fn what_cannot_be_summed_is_refused() {
    assert_eq!(average_linkage(&[]), Err(LinkageError::NoPoints));
    let wide = [5, MAX_SPAN + 6];
    assert_eq!(
        average_linkage(&wide),
        Err(LinkageError::TooWide(MAX_SPAN + 1))
    );
}
