use crate::story::{grid, log, submissions, table};
use gridrig_results::batsim::jobs_csv;

#[test]
fn the_jobs_are_written_in_the_columns_of_batsim() {
    let mut text = Vec::new();
    jobs_csv(&log(), &table(), &submissions(), &grid(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,\
         requested_time,success,final_state,starting_time,execution_time,finish_time,\
         waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata",
        "0,day,10,0,3,60,1,COMPLETED_SUCCESSFULLY,5.001,10,15.001,5.001,15.001,1.5001,0-2,,a1",
        "1,day,8,1,2,-1,1,COMPLETED_SUCCESSFULLY,7.501,4,11.501,6.501,10.501,2.62525,4-5,,b1",
        "2,day,4,6,2,-1,1,COMPLETED_SUCCESSFULLY,15.001,4,19.001,9.001,13.001,3.25025,0-1,,a1",
        "3,day,1,7,50,-1,0,REJECTED,,,,,,,,,",
    ];
    assert_eq!(lines, expected);
}
