//! Documents as the manuals have them, with their quirks.

/// The syntax of xRSL: quotes of all kinds, concatenation, variables, alternatives.
pub const XRSL: &str = r##"(* of the manual *)
& (rsl_substitution = ("HOST" "se.example.org") ("TOP" "gsiftp://"#$(HOST)#"/data"))
  (Executable = /bin/sleep)                (* case does not count *)
  (arguments = 90 'it''s' "a ""b""" ^%50%%% "$(HOST)" $(HOST)-x $(USER "nobody"))
  (job_name = "first " # 'run')            (* nor do underscores *)
  (count = 4) (countpernode = 2)
  (wallTime = "1 hour 30 minutes") (cpuTime = "240") (memory = 500) (disk > 1000)
  (join = yes) (stdout = out.txt) (gmlog = log)
  (environment = ("LANG" "C") ("EMPTY" ""))
  (inputFiles = ("a" "") ("b" $(TOP)/b) ("c" "https://h/c" "cache=no") ("d" "1024.5d"))
  (outputFiles = ("r" "") ("s" "gsiftp://h/s"))
  (| (queue = long) (queue = short))
  (runTimeEnvironment >= "ROOT-6") (cluster != "bad.example.org") (colour = blue)
"##;

/// RSL of GT2, co-allocated by DUROC.
pub const RSL: &str = r#"+
( &(resourceManagerContact="one.example.org:2119/jobmanager-pbs")
   (count=5) (jobtype=mpi) (label="subjob 0")
   (environment=(GLOBUS_DUROC_SUBJOB_INDEX 0) (LD_LIBRARY_PATH $(HOME)/lib))
   (directory="/home/u") (executable="/home/u/my_app") (max_wall_time=30))
( &(resourceManagerContact="two.example.org")
   (count=2) (hostCount=1) (executable="my_app2") (minMemory=512) (maxTime=20) (maxMemory=1024)
   (project=p) (maxCpuTime=10)
   (fileStageIn=("gsiftp://h/in" "in")) (file_stage_out=("out" "gsiftp://h/out")) (save_state=yes))
"#;

/// JDL of gLite.
pub const JDL: &str = r#"// of the guide
[
  Type = "Job"; JobType = "Normal";  # usual
  executable = "/bin/sleep";
  Arguments = "90 'two words' \"three \\\"words\\\"\"";
  StdOutput = "std.out"; StdError = "std.err"; /* both ; are fetched */
  Environment = { "LANG=C", "A=b=c" };
  InputSandbox = {"/home/u/start.sh", "data", "gsiftp://se.example.org/big"};
  InputSandboxBaseURI = "https://ui.example.org/in/";
  OutputSandbox = {"std.out", "r"};
  OutputSandboxDestURI = {"gsiftp://localhost/std.out", "gsiftp://se.example.org/r"};
  CpuNumber = 8; SMPGranularity = 4; WholeNodes = true;
  Requirements = (other.GlueCEPolicyMaxWallClockTime > 60 && 512 <= other.GlueHostMainMemoryRAMSize)
    && other.GlueCEUniqueID == "ce.example.org:8443/cream-pbs-long"
    && Member("VO-x; && y", other.GlueHostApplicationSoftwareRunTimeEnvironment)
    && (other.GlueCEStateFreeCPUs > 2 || other.GlueCEName != "short");
  Rank = -other.GlueCEStateEstimatedResponseTime;
  RetryCount = 3;
]
"#;
