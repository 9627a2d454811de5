use strict; use warnings; use lib '/tmp/tapc/t/lib';
use Test::More; use Time::HiRes 'time';
use Pardump::Cluster qw(start_cluster dump_ok restore_ok);
use Pardump::Compare qw(fingerprint same_database_ok schema_text);
use Pardump::Databases qw(make_everything make_latin1 make_sql_ascii empty_copy make_regression);
my $t=time; sub lap { diag sprintf "%-20s %.1f", shift, time-$t; $t=time }
my $node = start_cluster('main'); lap('start');
my @dbs = $ENV{DBS} ? split(' ',$ENV{DBS}) : qw(everything latin1 sql_ascii);
for my $db (@dbs) {
no strict 'refs'; my $n=&{"make_$db"}($node); lap("make $db ".($n//''));
my ($f,$s)=(fingerprint($node,$db), schema_text($node,$db)); lap("print");
my $dir = dump_ok($node,$db,$db,'pg_dump','-j2'); lap('dump');
empty_copy($node,$db,"${db}_2"); restore_ok($node,$dir,"${db}_2",$db,'-j4'); lap('restore');
same_database_ok($node,"${db}_2",$f,$s,$db); lap('compare');
if ($ENV{SHOW}) { print STDOUT map {"$_: $f->{$_}\n"} sort keys %$f; }
}
done_testing();
