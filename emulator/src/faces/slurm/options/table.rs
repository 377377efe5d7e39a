//! The options of Slurm 22.05's commands, as `getopt` would be told: a long
//! name, with its letter behind a comma, `=` where it takes a value and `=?`
//! where it may. An ambiguous abbreviation is told in this order. Options that
//! mean nothing to an emulated cluster are read and have no effect;
//! `docs/slurm.md` names the ones that have.

pub(super) const OPTIONS: [(&str, &str); 8] = [
    (
        "sbatch",
        "account,A= acctg-freq= array,a= batch= bb= bbf= begin,b= chdir,D= \
         cluster-constraint= clusters,M= comment= constraint,C= container= contiguous \
         core-spec,S= cores-per-socket= cpu-freq= cpus-per-gpu= cpus-per-task,c= deadline= \
         delay-boot= dependency,d= distribution,m= error,e= exclude,x= exclusive=? export= \
         export-file= extra-node-info,B= get-user-env=? gid= gpu-bind= gpu-freq= gpus,G= \
         gpus-per-node= gpus-per-socket= gpus-per-task= gres= gres-flags= help,h hint= hold,H \
         ignore-pbs input,i= job-name,J= kill-on-invalid-dep= licenses,L= mail-type= \
         mail-user= mcs-label= mem= mem-bind= mem-per-cpu= mem-per-gpu= mincpus= network= \
         nice=? no-kill,k=? no-requeue nodefile,F= nodelist,w= nodes,N= ntasks,n= \
         ntasks-per-core= ntasks-per-gpu= ntasks-per-node= ntasks-per-socket= open-mode= \
         output,o= overcommit,O oversubscribe,s=? parsable partition,p= power= priority= \
         profile= propagate=? qos,q= quiet,Q reboot requeue reservation= signal= \
         sockets-per-node= spread-job switches= tasks-per-node= test-only thread-spec= \
         threads-per-core= time,t= time-min= tmp= uid= usage use-min-nodes verbose,v \
         version,V wait,W wait-all-nodes= wckey= wrap=",
    ),
    (
        "srun",
        "account,A= acctg-freq= bb= bbf= bcast= begin,b= chdir,D= cluster-constraint= \
         clusters,M= comment= compress=? constraint,C= contiguous core-spec,S= \
         cores-per-socket= cpu-bind= cpu-freq= cpus-per-gpu= cpus-per-task,c= deadline= \
         delay-boot= dependency,d= disable-status,X distribution,m= epilog= error,e= exact \
         exclude,x= exclusive=? export= extra-node-info,B= gid= gpu-bind= gpus,G= \
         gpus-per-node= gpus-per-task= gres= help,h het-group= hint= hold,H immediate,I=? \
         input,i= interactive job-name,J= jobid= kill-on-bad-exit,K=? label,l licenses,L= \
         mail-type= mail-user= mem= mem-bind= mem-per-cpu= mincpus= mpi= msg-timeout= \
         multi-prog network= nice=? no-allocate,Z no-kill,k=? nodefile,F= nodelist,w= \
         nodes,N= ntasks,n= ntasks-per-node= open-mode= output,o= overcommit,O overlap \
         oversubscribe,s partition,p= preserve-env,E profile= prolog= propagate=? pty qos,q= \
         quiet,Q relative,r= reservation= signal= slurmd-debug= task-epilog= task-prolog= \
         threads,T= time,t= unbuffered,u usage verbose,v version,V",
    ),
    (
        "squeue",
        "account,A= all,a array,r array-unique clusters,M= cluster= Format,O= federation \
         format,o= help hide iterate,i= jobs,j=? licenses,L= local long,l me name,n= node= \
         nodes= nodelist,w= noconvert noheader,h partition,p= priority,P qos,q= \
         reservation,R= sibling sort,S= start states,t= steps,s=? usage user,u= verbose,v \
         version,V",
    ),
    (
        "sinfo",
        "all,a cluster= clusters,M= dead,d exact,e Format,O= federation format,o= future,F \
         help hide iterate,i= list-reasons,R local long,l Node,N nodes,n= noconvert \
         noheader,h partition,p= reservation,T responding,r sort,S= states,t= summarize,s \
         usage verbose,v version,V",
    ),
    (
        "sacct",
        "accounts,A= allocations,X allusers,a array brief,b cluster= clusters,M= completion,c \
         constraints,C= delimiter= duplicates,D endtime,E= federation file,f= flags,F= \
         format,o= gid,g= group= help,h helpformat,e jobs,j= local long,l name= ncpus,i= \
         noconvert nodelist,N= noheader,n nnodes,I= parsable,p parsable2,P partition,r= \
         qos,q= starttime,S= state,s= truncate,T uid,u= user= version,V wckeys,W=",
    ),
    (
        "sshare",
        "accounts,A= all,a cluster= clusters,M= format,o= help helpformat,e long,l noheader,n \
         parsable,p parsable2,P partition,m usage user= users,u= Users,U verbose,v version,V",
    ),
    (
        "scancel",
        "account,A= batch,b ctld clusters,M= cron,c full,f help hurry,H interactive,i \
         jobname= me name,n= nodelist,w= partition,p= qos,q= quiet,Q reservation,R= signal,s= \
         sibling= state,t= usage user,u= verbose,v version,V",
    ),
    (
        "scontrol",
        "all,a clusters,M= details,d federation,F future help,h hide json local oneliner,o \
         quiet,Q sibling uid,u= usage verbose,v version,V",
    ),
];
