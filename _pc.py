import sys,time,pickle
from pathlib import Path
from jumpgate.testing import sqllogic, sqllogic_run
if __name__=="__main__":
    t=time.time()
    ch=sqllogic.sample(sqllogic.files([Path('tests/cases/sql')]),300)
    out=list(sqllogic_run.run(ch)); s=sqllogic_run.summary(out)
    print(time.time()-t,s.answered,s.same,s.over_files,s.offloaded,dict(s.verdicts))
    pickle.dump(out,open('/tmp/outc.pkl','wb'))
