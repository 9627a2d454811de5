#!/usr/bin/perl
#
# scale.pl: what a dump of a petabyte by 1,000 workers would come to.
#
# usage: bench/scale.pl [TERABYTES [WORKERS [SERVERS [CORES]]]]
#
# Nothing is measured here: each job of the plan is given to the first worker
# that is free, as the pool does, with times that follow from the figures below.

use strict;
use warnings;

my ($terabytes, $workers, $servers, $cores) = (@ARGV, (1024, 1000, 16, 64)[ scalar(@ARGV) .. 3 ]);
die "usage: $0 [TERABYTES [WORKERS [SERVERS [CORES]]]]\n" if grep { !/^[1-9]\d*$/ } $terabytes, $workers, $servers, $cores;

# Measured, on the machine of RESULTS.md, by test_scale.c or by leader.sh.
my %measured = (
	core_rate => 0.4 * 2**30,      # bytes a second that a core reads and compresses by zstd:1
	connects => 73,                # sessions a second with snapshot, 2 cores
	toc_entry => 199_667_318 / 1e6,    # bytes of toc.dat for a chunk
	plan_cpu => 2.06e-6,           # seconds of the leader's for a chunk: plan, layout, queue, toc.dat
	plan_memory => 449 * 2**20 / 1e6,
	job_cpu => 54e-6,          # seconds of the leader's of 1,000 workers for a job, all that it does meanwhile included
	progress_cpu => 25e-9,     # and for each file in each line of --progress, one a second on a terminal
);

# Assumed: more than was seen anywhere.
my $spread = 0.2;              # of the time that a chunk takes, either way

# As chunk_plan.c has it.
my $total = $terabytes * 2**40;
my ($min, $max) = (32 * 2**20, 2**30);
my $chunk = int($total / ($workers * 16));
my $cap = $max > $total / 90_000 ? $max : $total / 90_000;
$chunk = $min if $chunk < $min;
$chunk = $cap if $chunk > $cap;
my $jobs = int($total / $chunk) + 1;

# Workers of one server share its cores.
my $per_server = $workers / $servers;
my $rate = $measured{core_rate} * ($per_server > $cores ? $cores / $per_server : 1);

# Who is free next: a heap of times.
my @free = map { $_ / $measured{connects} } 0 .. $workers - 1;
srand(1);
my ($busy, $end) = (0, 0);
foreach my $job (1 .. $jobs)
{
	# what is read last is cut again, in quarters
	my $bytes = $job > $jobs - $workers ? $chunk / 4 : $chunk;
	my $parts = $job > $jobs - $workers ? 4 : 1;
	foreach my $part (1 .. $parts)
	{
		my $seconds = $bytes / $rate * (1 + $spread * (2 * rand() - 1));
		$free[0] += $seconds;
		$busy += $seconds;
		$end = $free[0] if $free[0] > $end;
		my $at = 0;
		while ((my $child = 2 * $at + 1) < @free)
		{
			$child++ if $child + 1 < @free && $free[ $child + 1 ] < $free[$child];
			last if $free[$at] <= $free[$child];
			@free[ $at, $child ] = @free[ $child, $at ];
			$at = $child;
		}
	}
}
my $files = $jobs + 3 * $workers;
my $leader = $files * ($measured{plan_cpu} + $measured{job_cpu});
my $progress = $end * $files * $measured{progress_cpu};

printf "%d TB, %d workers, %d servers of %d cores: computed\n", $terabytes, $workers, $servers, $cores;
printf "chunks of %.1f GB, files %d\n", $chunk / 2**30, $files;
printf "time %.1f h; workers busy %.1f %%; the last one waited for %.0f s at most\n",
	$end / 3600, 100 * $busy / ($end * $workers), $end - $free[0];
printf "all sessions after %.0f s\n", $workers / $measured{connects};
printf "connections a server %d; descriptors of the leader %d\n",
	$per_server + 2, 2 * $workers + $servers + 20;
printf "locks held a server, one table of one index: %d\n", ($per_server + 1) * 4;
printf "toc.dat %.0f MB; the leader's memory for the plan %.0f MB\n",
	$files * $measured{toc_entry} / 2**20, $files * $measured{plan_memory} / 2**20;
printf "the leader's CPU %.0f s, %.2f %% of a core; with --progress on a terminal %.0f s, %.2f %%\n",
	$leader, 100 * $leader / $end, $leader + $progress, 100 * ($leader + $progress) / $end;
