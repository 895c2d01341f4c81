CLIENTS=[]
class Crew: pass
